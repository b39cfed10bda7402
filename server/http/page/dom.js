'use strict';
// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Elements. What the server says comes in as text nodes and attributes' values alone: the name of
// a model is anybody's choice.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') node.addEventListener('click', value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

// In the place of what is there. Who has the keyboard keeps it: what has the same key has the focus.
function put(id, ...children) {
  const place = byId(id);
  const focused = document.activeElement;
  const key = place.contains(focused) ? focused.dataset.key : undefined;
  const scrolled = place.querySelector('.scroll')?.scrollLeft;
  place.replaceChildren(...children.flat());
  if (scrolled) place.querySelector('.scroll')?.scrollTo(scrolled, 0);
  if (key === undefined) return;
  const again = [...place.querySelectorAll('[data-key]')].find((node) => node.dataset.key === key);
  again?.focus({preventScroll: true});
}

const count = (number) => typeof number === 'number' ? number.toLocaleString('en-US') : String(number);
const many = (number, one, more) => `${count(number)} ${number === 1 ? one : more}`;

function bytes(number) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let at = 0;
  for (; number >= 1024 && at + 1 < units.length; ++at) number /= 1024;
  return `${at === 0 ? number : number.toFixed(1)} ${units[at]}`;
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

// Of a shard that is empty, or whose size is not known yet, there is no part.
const share = (row) => row.chunks > 0 ? row.valid_chunks / row.chunks : row.state === 'complete' ? 1 : 0;
// Never 100 % before all is there.
const percent = (row) => `${Math.floor(100 * share(row))}%`;

// A table of `columns`: {title, cell(row), kind}. A cell is a text or a node.
function table(columns, rows, empty) {
  if (rows.length === 0) return el('p', {class: 'note'}, empty);
  const head = columns.map(({title, kind}) => el('th', {scope: 'col', class: kind}, title));
  const line = (row) => el('tr', {}, columns.map(({cell, kind}) => el('td', {class: kind}, cell(row))));
  return el('div', {class: 'scroll'},
            el('table', {}, el('thead', {}, el('tr', {}, head)), el('tbody', {}, rows.map(line))));
}

// Through the parts of a list. `pages` are the cursors of those before and of this one.
function pager(name, pages, next, go) {
  if (pages.length === 1 && next === null) return null;
  const button = (label, to, able) => el(
      'button', {type: 'button', 'data-key': `${name} ${label}`, disabled: able ? null : '', onclick: to}, label);
  return el('div', {class: 'pager'},
            button('First', () => go([null]), pages.length > 1),
            button('Previous', () => go(pages.slice(0, -1)), pages.length > 1),
            button('Next', () => go([...pages, next]), next !== null),
            `part ${count(pages.length)}`);
}

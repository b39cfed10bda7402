// The models, and the versions of the one that is chosen.

const MODELS_SHOWN = 12;
const VERSIONS_SHOWN = 10;

const pick = (key, label, isCurrent, go) => el(
    'button', {type: 'button', class: 'pick', 'data-key': key, 'aria-current': isCurrent, onclick: go}, label);

function behindCell(model) {
  if (model.behind === 0) return el('span', {class: 'is-faint'}, model.workers === 0 ? '' : 'none');
  const kind = 2 * model.behind > model.workers ? 'is-warn' : null;
  return el('span', {class: kind}, `${count(model.behind)}, by up to ${count(model.lag_max)}`);
}

function latestCell(model) {
  if (model.latest === null) return '–';
  return model.latest_held ? String(model.latest) : el('span', {class: 'is-bad'}, `${model.latest}, lost`);
}

function showModels({models, next}, pages, go) {
  const choice = chosen();
  const columns = [
    {title: 'Model', kind: 'name', cell: ({model}) => pick(
        `model ${model}`, model, model === choice.model, () => choose({model, version: null}))},
    {title: 'Latest', kind: 'number', cell: latestCell},
    {title: 'Versions', kind: 'number wide', cell: (model) => count(model.versions)},
    {title: 'Whole replicas', kind: 'number wide', cell: (model) => count(model.replicas)},
    {title: 'Workers', kind: 'number', cell: (model) => count(model.workers)},
    {title: 'Behind', kind: 'number', cell: behindCell},
    {title: 'Keeps', kind: 'number wide', cell: (model) => count(model.keep_latest)},
    {title: 'Term', kind: 'number wide', cell: (model) => count(model.term)},
  ];
  const empty = 'No models yet: none exists before a worker joins it.';
  put('models', table(columns, models, empty), pager('models', pages, next, go) ?? '');
}

// That an old version is held by nobody any more is as it should be.
const stateKind = {lost: 'is-faint', superseded: 'is-warn', publishing: 'is-warn'};

function showVersions({model, versions, next}, drawn, pages, go) {
  byId('versions-title').textContent = `Versions of ${model}`;
  const columns = [
    {title: 'Version', kind: 'number', cell: ({version}) => pick(
        `version ${version}`, String(version), String(version) === String(drawn), () => choose({version}))},
    {title: 'State', cell: ({state}) => el('span', {class: stateKind[state]}, state)},
    {title: 'Size', kind: 'number', cell: (version) => version.bytes ? bytes(version.bytes) : '–'},
    {title: 'Ranks', kind: 'number wide', cell: (version) => count(version.world_size)},
    {title: 'Whole', kind: 'number', cell: (version) => count(version.complete_replicas)},
    {title: 'Filling', kind: 'number', cell: (version) => count(version.filling_replicas)},
    {title: 'Kept by', kind: 'wide', cell: (version) => version.kept_by.join(', ')},
    {title: 'Content', kind: 'wide', cell: ({identity}) => identity
        ? el('code', {title: identity}, `${identity.slice(0, 12)}…`) : '–'},
  ];
  put('versions', table(columns, versions, 'Nobody has published a version of it.'),
      pager('versions', pages, next, go) ?? '');
}

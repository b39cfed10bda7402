// The line at the top, and the alerts.

const since = new Map();  // by alert: when this page saw it first

function showSummary(status) {
  const transfers = Object.entries(status.transfers_by_tier).filter(([, number]) => number > 0)
    .map(([tier, number]) => `${count(number)} ${tier === 'none' ? 'without a source' : tier}`);
  const parts = [
    `${status.server_version}, epoch ${status.epoch}, up ${duration(status.uptime_ms)}`,
    many(status.models, 'model', 'models'),
    `${many(status.workers, 'worker', 'workers')} (${count(status.connected)} connected)`,
    many(status.transfers, 'transfer', 'transfers') + (transfers.length ? `: ${transfers.join(', ')}` : ''),
    `calls: ${status.security}`,
  ];
  if (status.certificate_ends) parts.push(`TLS until ${status.certificate_ends}`);
  if (status.reloads_failed) parts.push(many(status.reloads_failed, 'bad reload', 'bad reloads'));
  byId('summary').textContent = parts.join(' · ');
}

const keyOf = (alert) => `${alert.name} ${alert.model ?? ''}`;

function lasting(alert, now) {
  const seen = duration(now - since.get(keyOf(alert)));
  return alert.for_s ? `seen for ${seen}, the rule waits ${duration(alert.for_s * 1000)}` : `seen for ${seen}`;
}

// To who listens, and once: the list itself changes with each second.
function say(alerts) {
  const text = alerts.length === 0 ? 'no alerts' : alerts.map(({severity, summary}) => `${severity}: ${summary}`).join('. ');
  const said = byId('alerts-said');
  if (said.textContent !== text) said.textContent = text;
}

function showAlerts(alerts, leftOut, now = Date.now()) {
  const keys = new Set(alerts.map(keyOf));
  for (const key of since.keys()) if (!keys.has(key)) since.delete(key);
  for (const key of keys) if (!since.has(key)) since.set(key, now);
  const items = alerts.map((alert) => el(
      'li', {class: alert.severity === 'critical' ? 'critical' : 'warning'},
      el('strong', {}, alert.severity), ` ${alert.model ? `${alert.model}: ` : ''}${alert.summary}. `,
      alert.remedy, el('span', {class: 'is-faint'}, ` (${alert.name}, ${lasting(alert, now)})`)));
  if (items.length === 0) items.push(el('li', {}, 'None.'));
  if (leftOut > 0) items.push(el('li', {}, `${many(leftOut, 'model is', 'models are')} not looked at here.`));
  put('alerts', items);
  say(alerts);
  document.title = alerts.length > 0 ? `(${alerts.length}) TensorHub` : 'TensorHub';
}

function showSilence(error) {
  document.body.classList.add('stale');
  showAlerts([{name: 'TensorHubDown', severity: 'critical', for_s: 60, model: null,
               summary: `this page has no answer from the server (${error.message})`,
               remedy: 'Transfers that run go on, and calls wait. Start it again on its data directory.'}], 0);
}

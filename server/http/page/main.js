// Asks each two seconds, while somebody looks.

const EVERY_MS = 2000;

const pages = {models: [null], versions: [null], workers: [null]};
let paused = false;
let timer = 0;
let running = false;
let again = false;
let polls = 0;

// Of a list, the part at the end of `pages`. Where that is no more, the first.
function turn(list) {
  return (to) => {
    pages[list] = to;
    poll();
  };
}
const after = (list) => pages[list].at(-1);

async function showModel(choice) {
  byId('model-section').hidden = choice.model === null;
  if (choice.model === null) return;
  try {
    const [versions, tree] = await Promise.all([
      ask(`models/${encodeURIComponent(choice.model)}/versions`, {limit: VERSIONS_SHOWN, after: after('versions')}),
      ask('versions', {model: choice.model, version: choice.version, limit: choice.draw})]);
    showVersions(versions, tree.version, pages.versions, turn('versions'));
    showTree(tree, choice.draw);
  } catch (error) {
    if (error.status !== 404 && error.status !== 400) throw error;
    byId('versions-title').textContent = error.message;
    for (const id of ['versions', 'tree', 'tree-rest']) put(id);
    for (const id of ['tree-title', 'tree-note']) byId(id).textContent = '';
  }
}

async function showFleet(choice) {
  const parameters = {model: choice.workersModel, state: choice.workersState, limit: WORKERS_SHOWN, after: after('workers')};
  try {
    showWorkers(await ask('workers', parameters), pages.workers, turn('workers'));
  } catch (error) {
    if (error.status !== 404 && error.status !== 400) throw error;
    put('workers', el('p', {class: 'note'}, error.message));
  }
}

async function look() {
  const [status, models] = await Promise.all([ask('status'), ask('models', {limit: MODELS_SHOWN, after: after('models')})]);
  // Where there is one model, it is the one that is looked at.
  if (chosen().model === null && models.models.length === 1 && pages.models.length === 1) {
    history.replaceState(null, '', `#${new URLSearchParams({model: models.models[0].model})}`);
  }
  document.body.classList.remove('stale');
  showSummary(status);
  showAlerts(status.alerts, status.alerts_leave_out_models);
  showModels(models, pages.models, turn('models'));
  offerModels(models.models);
  await Promise.all([showModel(chosen()), showFleet(chosen())]);
  byId('clock').textContent = `as of ${new Date().toLocaleTimeString()}`;
}

async function poll() {
  clearTimeout(timer);
  if (running) {
    again = true;
    return;
  }
  running = true;
  try {
    await look();
  } catch (error) {
    showSilence(error);
  }
  running = false;
  document.body.dataset.polls = String(++polls);
  if (again) {
    again = false;
    poll();
  } else if (!paused && !document.hidden) {
    timer = setTimeout(poll, EVERY_MS);
  }
}

byId('pause').addEventListener('click', () => {
  paused = !paused;
  byId('pause').setAttribute('aria-pressed', String(paused));
  byId('pause').textContent = paused ? 'Go on' : 'Pause';
  poll();
});
byId('workers-model').addEventListener('change', (event) => choose({of: event.target.value || null}));
byId('workers-state').addEventListener('change', (event) => choose({which: event.target.value}));
let before = chosen();
addEventListener('hashchange', () => {
  const now = chosen();
  if (now.model !== before.model) pages.versions = [null];
  if (now.workersModel !== before.workersModel || now.workersState !== before.workersState) pages.workers = [null];
  before = now;
  poll();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) poll();
});
showLegend();
poll();

// The workers: a part of them at a time, as many as a person reads.

const WORKERS_SHOWN = 50;

function lifeCell(worker) {
  if (!worker.connected) {
    return el('span', {class: 'is-bad'}, `not connected, lease ends in ${duration(worker.lease_left_ms)}`);
  }
  if (worker.stalled_ms > 0) return el('span', {class: 'is-bad'}, `stands still for ${duration(worker.stalled_ms)}`);
  if (worker.withdrawn) return el('span', {class: 'is-warn'}, 'out of service');
  return `lease ${duration(worker.lease_left_ms)}`;
}

function holdsCell(worker) {
  if (worker.version === null) return el('span', {class: 'is-faint'}, 'nothing');
  if (worker.state === 'complete') return 'complete';
  const kind = worker.state === 'draining' ? 'is-warn' : null;
  const bar = el('progress', {max: 1, value: share(worker), 'aria-label': 'received'});
  return [el('span', {class: kind}, `${worker.state} ${percent(worker)} `), bar];
}

function showWorkers({workers, next}, pages, go) {
  const ofOne = chosen().workersModel !== '';
  const columns = [
    ...(ofOne ? [] : [{title: 'Model', kind: 'name wide', cell: (worker) => worker.model}]),
    {title: 'Group / rank', kind: 'name', cell: (worker) =>
      `${worker.group} / ${worker.rank}${worker.world_size > 1 ? ` of ${worker.world_size}` : ''}`},
    {title: 'Version', kind: 'number', cell: (worker) => worker.version === null ? '–' : String(worker.version)},
    {title: 'Holds', cell: holdsCell},
    {title: 'Alive', cell: lifeCell},
    {title: 'Spot', kind: 'wide', cell: (worker) => worker.spot ? 'yes' : ''},
    {title: 'Location', kind: 'wide', cell: (worker) => worker.location},
  ];
  const empty = chosen().workersState === 'all' ? 'No workers: nobody has joined, or all have left.' : 'No such workers.';
  put('workers', table(columns, workers, empty), pager('workers', pages, next, go) ?? '');
}

// The models to choose among: those that are listed above, and the one that is chosen.
function offerModels(models) {
  const select = byId('workers-model');
  const wanted = chosen().workersModel;
  const names = [...new Set([...models.map(({model}) => model), ...(wanted ? [wanted] : [])])];
  const old = [...select.options].slice(1).map((option) => option.value);
  if (select.options.length === 0 || old.join(' ') !== names.join(' ')) {
    select.replaceChildren(el('option', {value: ''}, 'all'), ...names.map((name) => el('option', {value: name}, name)));
  }
  select.value = wanted;
  byId('workers-state').value = chosen().workersState;
}

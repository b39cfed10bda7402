// What is asked of the server, and what is chosen. What is chosen is in the address, so that it can
// be passed on, and the way back is the browser's.

const PATIENCE_MS = 10000;

// Beyond what a number of a browser can say it stays the text that it was.
const exact = (key, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value) && context?.source
    ? context.source : value;

async function ask(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== '');
  const query = new URLSearchParams(given).toString();
  const answer = await fetch(`/api/v1/${path}${query && '?'}${query}`,
                             {signal: AbortSignal.timeout(PATIENCE_MS), cache: 'no-store'});
  const json = JSON.parse(await answer.text(), exact);
  if (!answer.ok) throw Object.assign(new Error(json.error), {status: answer.status});
  return json;
}

function chosen() {
  const hash = new URLSearchParams(location.hash.slice(1));
  return {
    model: hash.get('model'),
    version: hash.get('version'),
    draw: Number(hash.get('draw')) || 60,
    workersModel: hash.get('of') ?? '',
    workersState: hash.get('which') ?? 'all',
  };
}

// Changes what is chosen; null takes a choice away.
function choose(changes) {
  const hash = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) hash.delete(name);
    else hash.set(name, value);
  }
  location.hash = hash.toString();
}

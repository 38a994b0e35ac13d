// The Worker of a page without a server: it computes scenes. Messages to it are
//   { knowledge }   once, what Python says of settings (explorer/settings/rules.py)
//   { id, kind, settings, engines }   a job: kind is 'scene' or 'stairs', engines are WebAssembly modules by name
//   { cancel }      the id of a job
// and from it, about the job `id`, { progress }, and at the end, with the bytes of `memory` that engines have,
// { scene }, { error, field, others } or { cancelled }.

import { Wrong } from './check.js';
import { Failure } from './slots.js';
import { Cancelled, Simulation } from './simulation.js';

const BREATH = 25; // milliseconds of work between two looks at messages
const NO_MEMORY = 'there is not enough memory for this run; choose a smaller n or T';

const desk = { knowledge: null, simulation: null, id: null, looked: 0 };

/** A Promise that is kept after the messages that wait. */
const pause = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

/** What a page is told of an error. */
function told(error) {
  if (error instanceof Cancelled) return { cancelled: true };
  if (error instanceof Wrong) return error.told;
  if (error instanceof Failure) return { error: error.message, field: error.field ?? null };
  if (error instanceof RangeError && /alloc|memory/i.test(error.message)) return { error: NO_MEMORY, field: null };
  return { error: `this is a bug in parkade (${error.message}); please report it`, field: null };
}

async function work({ id, kind, settings, engines }) {
  desk.id = id;
  const host = {
    progress: (share) => postMessage({ id, progress: share }),
    /** Called between chunks of steps. */
    async checkpoint() {
      if (performance.now() - desk.looked > BREATH) {
        await pause();
        desk.looked = performance.now();
      }
      if (desk.id !== id) throw new Cancelled();
    },
  };
  desk.simulation ??= new Simulation(desk.knowledge);
  try {
    const scene = await desk.simulation[kind](settings, engines, host);
    postMessage({ id, scene, memory: desk.simulation.memory }, Object.values(scene).filter((value) => value instanceof ArrayBuffer));
  } catch (error) {
    // The memory of engines that stopped halfway is given back.
    if (!(error instanceof Cancelled || error instanceof Wrong)) desk.simulation = null;
    postMessage({ id, memory: desk.simulation?.memory ?? 0, ...told(error) });
  }
}

self.onmessage = ({ data }) => {
  if (data.knowledge) desk.knowledge = data.knowledge;
  else if (data.cancel === undefined) work(data);
  else if (data.cancel === desk.id) desk.id = null;
};

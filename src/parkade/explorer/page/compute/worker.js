// The Worker of a page without a server: it computes scenes. Messages to it are
//   { knowledge }   once, what Python says of settings and engines (explorer/standalone/contents.py)
//   { id, kind, settings, engines }   a job: kind is 'scene' or 'stairs', engines are WebAssembly modules by name
//   { cancel }      the id of a job
// and from it, about the job `id`, { progress }, and at the end, with the bytes of `memory` that engines have,
// { scene }, { error, field, others } or { cancelled }.

import { Wrong } from './check.js';
import { Failure } from './slots.js';
import { Cancelled, Simulation } from './simulation.js';

const BREATH = 25; // milliseconds of work between two looks at messages
const NO_MEMORY = 'there is not enough memory for this run; choose a smaller n or T';

const state = { knowledge: null, simulation: null, id: null, looked: 0 }; // id is that of the current job

/** A Promise that resolves when the waiting messages have been handled. */
const pause = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

/** The message to the page about an error. */
function messageOf(error) {
  if (error instanceof Cancelled) return { cancelled: true };
  if (error instanceof Wrong) return error.answer;
  if (error instanceof Failure) return { error: error.message, field: error.field ?? null };
  if (error instanceof RangeError && /alloc|memory/i.test(error.message)) return { error: NO_MEMORY, field: null };
  return { error: `this is a bug in parkade (${error.message}); please report it`, field: null };
}

async function work({ id, kind, settings, engines }) {
  state.id = id;
  const host = {
    progress: (share) => postMessage({ id, progress: share }),
    /** Called between chunks of steps. */
    async checkpoint() {
      if (performance.now() - state.looked > BREATH) {
        await pause();
        state.looked = performance.now();
      }
      if (state.id !== id) throw new Cancelled();
    },
  };
  state.simulation ??= new Simulation(state.knowledge);
  try {
    const scene = await state.simulation[kind](settings, engines, host);
    postMessage({ id, scene, memory: state.simulation.memory }, Object.values(scene).filter((value) => value instanceof ArrayBuffer));
  } catch (error) {
    // The memory of engines that stopped halfway is given back.
    if (!(error instanceof Cancelled || error instanceof Wrong)) state.simulation = null;
    postMessage({ id, memory: state.simulation?.memory ?? 0, ...messageOf(error) });
  }
}

self.onmessage = ({ data }) => {
  if (data.knowledge) state.knowledge = data.knowledge;
  else if (data.cancel === undefined) work(data);
  else if (data.cancel === state.id) state.id = null;
};

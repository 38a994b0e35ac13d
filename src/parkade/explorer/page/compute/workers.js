// Workers that do jobs: one at a time each, the others wait. A Worker that fails is replaced.

const MOST = 2;
const BROKEN = 'the computation ended unexpectedly, perhaps for lack of memory; choose a smaller n or T';

export class WorkerPool {
  /** `start` returns a Promise of a new Worker. */
  constructor(start) {
    this.start = start;
    this.size = Math.min(MOST, navigator.hardwareConcurrency || 1);
    this.members = []; // { worker, job, memory }
    this.waiting = []; // jobs
    this.count = 0;
  }

  /** A Promise of one Worker being there. */
  async ready() {
    if (!this.members.length) await this.add(null);
  }

  /** Do a job: the Promise of the last message about it. The second argument has a signal, onProgress and onNote. */
  run(task, { signal, onProgress, onNote }) {
    return new Promise((resolve, reject) => {
      this.count += 1;
      const job = { id: this.count, task, resolve, reject, onProgress, member: null };
      signal.addEventListener('abort', () => this.drop(job, signal.reason), { once: true });
      this.waiting.push(job);
      this.assign();
      if (this.waiting.includes(job)) onNote('waiting for other runs to end');
    });
  }

  /** Nobody waits for a job any more. */
  drop(job, reason) {
    job.reject(reason);
    job.dropped = true;
    if (job.member) job.member.worker.postMessage({ cancel: job.id });
    else this.waiting = this.waiting.filter((other) => other !== job);
  }

  /** Give jobs to idle Workers; start new ones as long as there are few. */
  assign() {
    for (const member of this.members) if (!member.job && this.waiting.length) this.give(member, this.waiting.shift());
    if (this.waiting.length && this.members.length < this.size) this.add(this.waiting.shift());
  }

  give(member, job) {
    Object.assign(member, { job });
    job.member = member;
    member.worker.postMessage({ id: job.id, ...job.task });
  }

  /** Start a Worker, with a job or without one. */
  async add(job) {
    const member = { worker: null, job: job ?? 'starting', memory: 0 };
    this.members.push(member);
    try {
      member.worker = await this.start();
    } catch (error) {
      this.members = this.members.filter((other) => other !== member);
      job?.reject(error);
      return;
    }
    member.worker.addEventListener('message', ({ data }) => this.receive(member, data));
    member.worker.addEventListener('error', (event) => { event.preventDefault(); this.lose(member); });
    member.job = null;
    if (job && !job.dropped) this.give(member, job);
    else this.assign();
  }

  /** Bytes of memory that the engines of each Worker have. */
  get memory() { return this.members.map(({ memory }) => memory); }

  receive(member, { id, progress, memory, ...result }) {
    const { job } = member;
    if (job?.id !== id) return;
    if (progress !== undefined) job.onProgress(progress);
    else {
      Object.assign(member, { job: null, memory });
      job.resolve(result);
      this.assign();
    }
  }

  /** A Worker broke down. */
  lose(member) {
    member.worker.terminate();
    this.members = this.members.filter((other) => other !== member);
    member.job?.resolve({ error: BROKEN, field: null });
    this.assign();
  }
}

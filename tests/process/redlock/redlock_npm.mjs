// SPDX-License-Identifier: BSL-1.0
// Locks a key as programs for Node.js do, by the package `redlock` of npm, on all servers whose ports are given:
//   redlock_npm.mjs PORT,PORT,... count KEY COUNTER SECONDS   adds 1 to the counter on the first server under the lock, again
//                                                             and again; prints how often
//   redlock_npm.mjs PORT,PORT,... try KEY                     prints whether the key was to be had, and keeps it if it was
//   redlock_npm.mjs PORT,PORT,... keep KEY MILLISECONDS       holds it with that expiry, and ends
//   redlock_npm.mjs PORT,PORT,... extend KEY MILLISECONDS     takes it with 10 s, extends it by that, and ends
// The packages are in the folder DLOCK_TEST_NPM.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const require = createRequire(process.env.DLOCK_TEST_NPM + '/');
const { Redis } = require('ioredis');
const { default: Redlock, ExecutionError } = require('redlock');

const [ports, what, key, third, fourth] = process.argv.slice(2);
const clients = ports.split(',').map((port) => new Redis({ host: '127.0.0.1', port: Number(port) }));
// Between its own retries this version keeps what an attempt has won, so two that each have a part wait for their ttl.
const locks = new Redlock(clients, { retryCount: 0 });
locks.on('error', () => {}); // a key that is held is no news

// Null: it is held.
async function attempt(duration) {
  try {
    return await locks.acquire([key], duration);
  } catch (problem) {
    if (problem instanceof ExecutionError) return null;
    throw problem;
  }
}

if (what === 'count') {
  const until = Date.now() + 1000 * Number(fourth);
  let done = 0;
  while (Date.now() < until) {
    const lock = await attempt(30000);
    if (lock === null) {
      await sleep(1 + 9 * Math.random());
      continue;
    }
    const value = Number((await clients[0].get(third)) ?? 0);
    await sleep(1);
    await clients[0].set(third, value + 1);
    await lock.release();
    ++done;
  }
  console.log(done);
} else if (what === 'try') {
  console.log((await attempt(30000)) === null ? 'busy' : 'granted');
} else if (what === 'keep') {
  await locks.acquire([key], Number(third));
} else if (what === 'extend') {
  await (await locks.acquire([key], 10000)).extend(Number(third));
} else {
  throw new Error('what?');
}
process.exit(0);

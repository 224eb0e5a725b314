// The simulator on a thread of its own: a question in, an answer out, one after another.
let exports;
self.onmessage = async ({ data: { module, number, question } }) => {
  if (module) exports = (await WebAssembly.instantiate(module, {})).exports;
  if (!question) return;
  const start = performance.now();
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const at = exports.question(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  let answer;
  try {
    const length = exports.answer();
    answer = JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.answer_bytes(), length)));
  } catch (trap) {
    answer = { error: "the simulator has failed (" + trap.message + "): please report the command below" };
  }
  self.postMessage({ number, answer, took: performance.now() - start });
};

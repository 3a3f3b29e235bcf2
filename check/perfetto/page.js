// Opens a trace in Perfetto's own trace processor, which the folder that serves this page contains as WebAssembly, and asks it in SQL.
// What is said to it are messages of its protocol, `TraceProcessorRpcStream` in Perfetto's protos/perfetto/trace_processor/trace_processor.proto.

const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;
const PIECE = 8 << 20;

/** One field of a message: a number, or bytes. */
function field(number, value) {
  const varint = (n) => {
    const bytes = [];
    for (; n > 0x7f; n = Math.floor(n / 128)) bytes.push((n & 0x7f) | 0x80);
    return [...bytes, n];
  };
  if (typeof value === 'number') return new Uint8Array([...varint(number * 8), ...varint(value)]);
  const head = varint(number * 8 + 2).concat(varint(value.length));
  const all = new Uint8Array(head.length + value.length);
  all.set(head);
  all.set(value, head.length);
  return all;
}

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

function varintAt(bytes, at) {
  let [value, shift] = [0n, 0n];
  for (;;) {
    const byte = bytes[at];
    at += 1;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [BigInt.asIntN(64, value), at];
    shift += 7n;
  }
}

/** Calls `take(number, value)` for each field: a BigInt, or bytes. */
function read(bytes, take) {
  let at = 0;
  while (at < bytes.length) {
    let [key, length] = [0n, 0n];
    [key, at] = varintAt(bytes, at);
    const [number, kind] = [Number(key >> 3n), Number(key & 7n)];
    if (kind === 0) {
      [length, at] = varintAt(bytes, at);
      take(number, length);
      continue;
    }
    if (kind === 1) length = 8n;
    else if (kind === 5) length = 4n;
    else [length, at] = varintAt(bytes, at);
    take(number, bytes.subarray(at, at + Number(length)));
    at += Number(length);
  }
}

const text = (bytes) => new TextDecoder().decode(bytes);

/** The rows of a `QueryResult`, added to what came in the batches before. */
function readRows(bytes, result) {
  let isLast = false;
  read(bytes, (number, value) => {
    if (number === 1) result.columns.push(text(value));
    if (number === 2) result.error = text(value);
    if (number !== 3) return;
    const [numbers, floats, strings, kinds] = [[], [], [], []];
    const packed = (into) => (bytes) => {
      for (let at = 0, n = 0n; at < bytes.length; into.push(Number(n))) [n, at] = varintAt(bytes, at);
    };
    read(value, (of, cells) => {
      if (of === 1) packed(kinds)(cells);
      if (of === 2) packed(numbers)(cells);
      if (of === 3) for (let at = 0; at < cells.length; at += 8) floats.push(new DataView(cells.buffer, cells.byteOffset + at).getFloat64(0, true));
      if (of === 5) strings.push(...text(cells).split('\0').slice(0, -1));
      if (of === 6) isLast = cells !== 0n;
    });
    for (const kind of kinds) {
      result.cells.push([undefined, () => null, () => numbers.shift(), () => floats.shift(), () => strings.shift()][kind]());
    }
  });
  return isLast;
}

class TraceProcessor {
  constructor() {
    const channel = new MessageChannel();
    const worker = new Worker('engine_bundle.js');
    worker.onerror = (event) => this.fail(new Error(event.message));
    this.port = channel.port2;
    this.received = new Uint8Array(0);
    this.port.onmessage = (event) => this.receive(event.data);
    worker.postMessage(channel.port1, [channel.port1]);
  }

  fail(error) {
    this.failed?.(error);
  }

  /** Sends a request; `take(number, value)` is given the fields of its answers until it returns true. */
  ask(request, fields, take) {
    return new Promise((done, failed) => {
      this.failed = failed;
      this.answer = (bytes) => {
        let isDone = false;
        read(bytes, (number, value) => {
          if (number === 5) failed(new Error(text(value)));
          isDone = take(number, value) || isDone;
        });
        if (isDone) done();
      };
      this.port.postMessage(field(1, joined(field(2, request), ...fields)));
    });
  }

  receive(bytes) {
    this.received = joined(this.received, bytes);
    while (this.received.length > 0) {
      const [length, at] = varintAt(this.received, 1);
      const end = at + Number(length);
      if (this.received.length < end) return;
      const message = this.received.slice(at, end);
      this.received = this.received.slice(end);
      this.answer(message);
    }
  }

  async open(bytes) {
    const check = (number) => (of, value) => {
      if (of !== number) return false;
      read(value, (of, told) => {
        if (of === 2) throw new Error(text(told));
      });
      return true;
    };
    for (let at = 0; at < bytes.length; at += PIECE) {
      await this.ask(APPEND, [field(101, bytes.subarray(at, at + PIECE))], check(201));
    }
    await this.ask(FINALIZE, [], (of) => of === 3 || of === 212);
  }

  async query(sql) {
    const result = { columns: [], cells: [] };
    await this.ask(QUERY, [field(103, field(1, new TextEncoder().encode(sql)))], (of, value) => of === 203 && readRows(value, result));
    if (result.error) throw new Error(`${sql}: ${result.error}`);
    const rows = [];
    for (let at = 0; at < result.cells.length; at += result.columns.length) rows.push(result.cells.slice(at, at + result.columns.length));
    return rows;
  }
}

/** Opens the file at `url` and answers the queries; the result, or what went wrong, is in `window.answer`. */
window.look = async (url, queries) => {
  window.answer = null;
  try {
    const processor = new TraceProcessor();
    await processor.open(new Uint8Array(await (await fetch(url)).arrayBuffer()));
    const rows = {};
    for (const [name, sql] of Object.entries(queries)) rows[name] = await processor.query(sql);
    window.answer = { rows };
  } catch (error) {
    window.answer = { error: String(error) };
  }
};

// The page of `heist live`: it draws snapshots of a program's pools, from the server that sent the page or from data inside of the file.
//
// Data flows one way: a source hands frames to the player, which keeps the last 30 seconds and decides which moment is shown; the views draw that
// moment. Everything that comes from the program becomes text by `textContent`, never markup.
'use strict';
(() => {
  const KEPT_MS = 30000;
  const ARROW_MS = 700;
  const MOST_ARROWS = 200;
  const MOST_TOKENS = 12;
  const STATES = ['working', 'searching', 'parked', 'waiting', 'blocked'];
  const STATE_MEANS = {
    working: 'runs a job, a poll or a tick',
    searching: 'is between two pieces of work and looks for the next',
    parked: 'sleeps, because there is nothing to do',
    waiting: 'waits for other work, with its right to run lent or kept',
    blocked: 'is inside of a job or poll that uses no CPU: it sleeps in the system',
    inactive: 'is switched off: the pool runs fewer workers now',
  };
  const TASK_STATES = ['running', 'scheduled', 'waiting', 'leaked', 'done'];

  const $ = (id) => document.getElementById(id);

  /** An element with a class and a text. */
  function el(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** Sets a text, if it is another one. */
  function say(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  /** The shape and the word of a state. */
  function stateMark(state, word) {
    const mark = el('span', 'state');
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('aria-hidden', 'true');
    const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
    svg.append(use);
    mark.append(svg, el('span', '', word));
    setState(mark, state, word);
    return mark;
  }

  function setState(mark, state, word) {
    if (mark.dataset.state !== state) {
      mark.dataset.state = state;
      mark.firstChild.firstChild.setAttribute('href', '#s-' + state);
    }
    say(mark.lastChild, word === undefined ? state : word);
  }

  /** So many of something, in words. */
  function many(n, what) {
    return count(n) + ' ' + what + (n === 1 ? '' : 's');
  }

  function count(n) {
    if (n < 10000) return String(Math.round(n));
    if (n < 1e6) return (n / 1e3).toFixed(n < 1e5 ? 1 : 0) + 'k';
    return (n / 1e6).toFixed(1) + 'M';
  }

  function duration(ms) {
    if (ms < 10) return ms.toFixed(1) + ' ms';
    if (ms < 1000) return Math.round(ms) + ' ms';
    if (ms < 60000) return (ms / 1000).toFixed(1) + ' s';
    if (ms < 3600000) return Math.floor(ms / 60000) + ' min ' + Math.floor(ms / 1000 % 60) + ' s';
    return Math.floor(ms / 3600000) + ' h ' + Math.floor(ms / 60000 % 60) + ' min';
  }

  // Where frames come from: an object with `start(handlers)`, whose handlers are `frame(frame)`, `skipped(n)`, `state(name, text)`.

  /** Frames inside of this file. */
  class EmbeddedSource {
    constructor(text) {
      this.isEmbedded = true;
      this.frames = JSON.parse(text);
    }

    start(on) {
      this.frames.forEach((frame) => on.frame(frame));
      on.state('recorded', 'recorded');
    }
  }

  /** Frames from the server that has sent this page, as server-sent events; read by hand, because a refusal has a text that people should see. */
  class ServerSource {
    constructor() {
      this.isEmbedded = false;
    }

    async start(on) {
      for (;;) {
        try {
          const answer = await fetch('/events', { headers: { accept: 'text/event-stream' }, cache: 'no-store' });
          if (answer.ok) {
            on.state('live', 'live');
            await this.read(answer.body.getReader(), on);
            on.state('lost', 'The program has closed the connection; trying again.');
          } else {
            on.state('lost', (await answer.text()).trim());
          }
        } catch (error) {
          on.state('lost', 'The program does not answer; it may have ended. Trying again.');
        }
        await new Promise((resolve) => setTimeout(resolve, 1500));
      }
    }

    async read(reader, on) {
      const decoder = new TextDecoder();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        rest += decoder.decode(value, { stream: true });
        for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
          this.event(rest.slice(0, end), on);
          rest = rest.slice(end + 2);
        }
      }
    }

    event(text, on) {
      let name = 'message';
      let data = '';
      for (const line of text.split('\n')) {
        if (line.startsWith('event: ')) name = line.slice(7);
        else if (line.startsWith('data: ')) data += line.slice(6);
      }
      if (name === 'skipped') on.skipped(Number(data));
      else if (data) on.frame(JSON.parse(data));
    }
  }

  /** Keeps the last frames, and says which moment is shown. */
  class Player {
    constructor(isEmbedded) {
      this.frames = [];
      this.isEmbedded = isEmbedded;
      this.shown = null; // The moment, in the program's milliseconds.
      this.isPaused = false;
      this.speed = 1;
      this.isLive = !isEmbedded;
    }

    get newest() { return this.frames.length ? this.frames[this.frames.length - 1].at : 0; }
    get oldest() { return this.frames.length ? this.frames[0].at : 0; }

    add(frame) {
      if (this.frames.length && frame.at < this.newest) {
        // Another program answers at this address now.
        this.frames = [];
        this.shown = null;
      }
      this.frames.push(frame);
      if (!this.isEmbedded) {
        let old = 0;
        while (frame.at - this.frames[old].at > KEPT_MS) old += 1;
        if (old) this.frames.splice(0, old);
      }
      if (this.shown === null) this.shown = frame.at;
    }

    /** Goes on by so many milliseconds of the reader's time. */
    advance(ms) {
      if (this.shown === null) return;
      if (!this.isPaused) {
        this.shown += ms * this.speed;
        if (this.isLive && this.speed === 1) {
          // A little behind the newest, so that what happens between two frames is shown evenly.
          const aim = this.newest - 60;
          const off = aim - this.shown;
          this.shown += Math.abs(off) > 400 ? off : off * Math.min(1, ms / 250);
        }
      }
      if (this.isEmbedded && !this.isPaused && this.shown > this.newest + 600) this.shown = this.oldest;
      this.shown = Math.max(this.oldest, Math.min(this.isEmbedded ? this.newest + 601 : this.newest, this.shown));
    }

    /** The place of the last frame that is not later than the moment. */
    place(at) {
      let low = 0;
      let high = this.frames.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.frames[middle].at <= at) low = middle + 1; else high = middle;
      }
      return Math.max(0, low - 1);
    }

    frame() { return this.frames.length ? this.frames[this.place(this.shown)] : null; }

    seek(at) {
      this.shown = Math.max(this.oldest, Math.min(this.newest, at));
      this.isLive = false;
      this.isPaused = true;
    }

    step(n) {
      const place = Math.max(0, Math.min(this.frames.length - 1, this.place(this.shown) + n));
      if (this.frames.length) this.seek(this.frames[place].at);
    }

    setPaused(isPaused) {
      this.isPaused = isPaused;
      if (isPaused) this.isLive = false;
    }

    setSpeed(speed) {
      this.speed = speed;
      if (speed !== 1) this.isLive = false;
    }

    goLive() {
      this.isPaused = false;
      this.speed = 1;
      this.isLive = !this.isEmbedded;
      this.shown = this.isEmbedded ? this.oldest : this.newest - 60;
    }
  }

  /** A row of tokens, of which as many are shown as wait. */
  function makeLane(kind) {
    const lane = el('div', 'lane');
    lane.dataset.kind = kind;
    const tokens = el('span', 'tokens');
    const n = el('span', 'lane-n', '0');
    lane.append(el('span', 'lane-name', kind), tokens, n);
    return { lane, tokens, n, shown: -1 };
  }

  function fillTokens(parts, n) {
    if (parts.shown === n) return;
    parts.shown = n;
    const wanted = Math.min(n, MOST_TOKENS);
    while (parts.tokens.childElementCount < wanted) parts.tokens.append(el('i'));
    for (let i = 0; i < parts.tokens.childElementCount; i += 1) {
      parts.tokens.children[i].classList.toggle('off', i >= wanted);
    }
    parts.tokens.classList.toggle('more', n > MOST_TOKENS);
    say(parts.n, count(n));
    parts.lane.classList.toggle('has', n > 0);
  }

  const KINDS = ['forks', 'jobs', 'tasks', 'ticks'];

  /** The cards of a pool's workers. */
  class Workers {
    constructor() {
      this.list = $('workers');
      this.cards = [];
      this.legend = [...STATES].map((state) => {
        const item = el('li');
        item.title = STATE_MEANS[state];
        const mark = stateMark(state, state);
        const n = el('b', '', '0');
        mark.append(n);
        item.append(mark);
        $('legend').append(item);
        return { mark, n, state };
      });
      const shared = (id) => ({ lane: $(id).parentElement, tokens: $(id), n: $(id + '-n'), shown: -1 });
      this.injected = [shared('inj-jobs'), shared('inj-tasks')];
    }

    fit(n) {
      while (this.cards.length > n) this.cards.pop().card.remove();
      while (this.cards.length < n) {
        const card = el('li', 'worker');
        const head = el('div', 'w-head');
        const name = el('span', 'w-name');
        const mark = stateMark('parked', 'parked');
        head.append(name, mark);
        const runs = el('p', 'w-runs');
        const bar = el('div', 'w-bar');
        const fill = el('i');
        bar.append(fill);
        card.append(head, runs, bar);
        const lanes = KINDS.map(makeLane);
        lanes.forEach(({ lane }) => card.append(lane));
        this.list.append(card);
        this.cards.push({ card, name, mark, runs, fill, lanes });
      }
      this.list.classList.toggle('many', n > 16);
    }

    draw(pool, busy) {
      $('workers-empty').hidden = Boolean(pool);
      $('shared').hidden = !pool;
      this.fit(pool ? pool.workers.length : 0);
      if (!pool) return;
      const counts = {};
      pool.workers.forEach((worker, i) => {
        const parts = this.cards[i];
        counts[worker.state] = (counts[worker.state] || 0) + 1;
        parts.card.dataset.state = worker.state;
        say(parts.name, worker.name || 'worker ' + worker.index);
        setState(parts.mark, worker.state);
        parts.mark.title = STATE_MEANS[worker.state] || '';
        const runs = inside(worker);
        say(parts.runs, runs || '\u00a0');
        parts.runs.title = runs;
        parts.fill.style.transform = 'scaleX(' + (busy[i] || 0).toFixed(2) + ')';
        [worker.forks, worker.jobs, worker.tasks, worker.ticks].forEach((n, k) => fillTokens(parts.lanes[k], n));
      });
      this.legend.forEach(({ n, state }) => say(n, String(counts[state] || 0)));
      fillTokens(this.injected[0], pool.injected_jobs);
      fillTokens(this.injected[1], pool.injected_tasks);
      leftOut('workers-left', pool.workers_left, 'worker');
    }
  }

  /** What a thread is inside of, in words. */
  function inside(thread) {
    const what = { job: 'job', poll: 'task', tick: 'tick' }[thread.does];
    if (!what && !thread.runs) return '';
    const since = thread.since >= 100 ? ', ' + duration(thread.since) : '';
    return [what, thread.runs].filter(Boolean).join(' ') + since;
  }

  function leftOut(id, n, what) {
    const place = $(id);
    place.hidden = !n;
    if (n) say(place, 'and ' + count(n) + ' more ' + what + (n === 1 ? '' : 's') + ', left out to keep a snapshot below 64 KiB');
  }

  /** Steals, as tokens that fly from card to card. */
  class Arrows {
    constructor(workers) {
      this.workers = workers;
      this.canvas = $('arrows');
      this.centres = [];
      this.isStill = matchMedia('(prefers-reduced-motion: reduce)');
      this.last = '';
      this.seen = 0;
      new ResizeObserver(() => this.measure()).observe($('stage'));
    }

    /** What is drawn is to be drawn anew. */
    forget() {
      this.last = '';
      this.isClear = false;
    }

    measure() {
      const stage = $('stage').getBoundingClientRect();
      const ratio = Math.min(devicePixelRatio || 1, 2);
      this.canvas.width = Math.round(stage.width * ratio);
      this.canvas.height = Math.round(stage.height * ratio);
      this.ratio = ratio;
      this.centres = this.workers.cards.map(({ card }) => {
        const box = card.getBoundingClientRect();
        return { x: box.left - stage.left + box.width / 2, y: box.top - stage.top + box.height * 0.62 };
      });
      this.last = '';
    }

    /** Those of the frames around the moment, the newest first. */
    under(player, id) {
      const found = [];
      for (let i = Math.min(player.frames.length - 1, player.place(player.shown) + 2); i >= 0; i -= 1) {
        const frame = player.frames[i];
        if (frame.at < player.shown - ARROW_MS - 200) break;
        const pool = frame.pools.find((other) => other.id === id);
        if (!pool) continue;
        for (const [at, from, to] of pool.arrows) {
          const age = player.shown - at;
          if (age >= 0 && age <= ARROW_MS && from !== to && found.length < MOST_ARROWS) found.push([age / ARROW_MS, from, to]);
        }
      }
      return found;
    }

    draw(player, id, colours) {
      const cards = this.workers.cards.length;
      if (this.centres.length !== cards) this.measure();
      const found = id === null ? [] : this.under(player, id);
      const key = player.isPaused ? JSON.stringify(found) : '';
      if ((key && key === this.last) || (!found.length && this.isClear)) return;
      this.last = key;
      this.isClear = !found.length;
      this.seen += found.length;
      this.canvas.dataset.arrows = String(found.length);
      this.canvas.dataset.seen = String(this.seen);
      const paint = this.canvas.getContext('2d');
      paint.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      paint.clearRect(0, 0, this.canvas.width, this.canvas.height);
      paint.lineCap = 'round';
      paint.lineJoin = 'round';
      for (const [part, from, to] of found) {
        const [a, b] = [this.centres[from], this.centres[to]];
        if (a && b) this.arrow(paint, a, b, this.isStill.matches ? 0.74 : part, found.length > 8, colours);
      }
    }

    arrow(paint, a, b, part, isCrowded, colours) {
      // From queue to queue, in a bow: upwards on the way to the right and downwards on the way to the left, so that two workers that steal from
      // each other have two arrows.
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const length = Math.hypot(dx, dy) || 1;
      const bow = Math.min(74, 24 + length * 0.12);
      const [start, end] = [a, b];
      const middle = { x: (a.x + b.x) / 2 + dy / length * bow, y: (a.y + b.y) / 2 - dx / length * bow };
      const at = (t) => ({
        x: (1 - t) ** 2 * start.x + 2 * t * (1 - t) * middle.x + t * t * end.x,
        y: (1 - t) ** 2 * start.y + 2 * t * (1 - t) * middle.y + t * t * end.y,
      });
      const ease = part < 0.75 ? 1 - (1 - part / 0.75) ** 2 : 1;
      const from = Math.max(0, ease - (isCrowded ? 0.35 : 0.85));
      paint.globalAlpha = part > 0.75 ? Math.max(0, 1 - (part - 0.75) / 0.25) : 1;
      // A halo in the colour of the panel keeps the arrow apart from what it crosses.
      for (const [width, colour] of [[isCrowded ? 4 : 7, colours.panel], [isCrowded ? 2.5 : 3, colours.arrow]]) {
        paint.strokeStyle = colour;
        paint.lineWidth = width;
        paint.beginPath();
        for (let i = 0; i <= 16; i += 1) {
          const point = at(from + (ease - from) * i / 16);
          if (i) paint.lineTo(point.x, point.y); else paint.moveTo(point.x, point.y);
        }
        paint.stroke();
      }
      const tip = at(ease);
      const before = at(Math.max(0, ease - 0.06));
      const angle = Math.atan2(tip.y - before.y, tip.x - before.x);
      paint.save();
      paint.translate(tip.x, tip.y);
      paint.rotate(angle);
      paint.fillStyle = colours.arrow;
      paint.strokeStyle = colours.panel;
      paint.lineWidth = 1.5;
      paint.beginPath();
      paint.moveTo(9, 0);
      paint.lineTo(-7, 7.5);
      paint.lineTo(-3.5, 0);
      paint.lineTo(-7, -7.5);
      paint.closePath();
      paint.fill();
      paint.stroke();
      paint.restore();
      paint.globalAlpha = 1;
    }
  }

  /** One chart of a few lines over time. */
  class Chart {
    constructor(id, series, most, format) {
      this.canvas = $(id);
      this.now = $(id + '-now');
      this.series = series;
      this.most = most;
      this.format = format;
      this.pointed = null;
      this.canvas.addEventListener('pointermove', (event) => { this.pointed = event.offsetX; });
      this.canvas.addEventListener('pointerleave', () => { this.pointed = null; });
    }

    /** The moment at a place of the canvas. */
    moment(x) { return this.from + (x - LEFT) / Math.max(1, this.width - LEFT - RIGHT) * (this.until - this.from); }

    draw(points, from, until, shown, end, newest, colours) {
      [this.from, this.until] = [from, until];
      const ratio = Math.min(devicePixelRatio || 1, 2);
      this.width = this.canvas.clientWidth;
      const [width, height] = [this.width, this.canvas.clientHeight];
      if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
      }
      const paint = this.canvas.getContext('2d');
      paint.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint.clearRect(0, 0, width, height);
      const [top, bottom] = [8, height - 20];
      const values = points.flatMap((point) => this.series.map((line) => line.of(point)));
      const most = this.most || niceMost(Math.max(0, ...values));
      const x = (at) => LEFT + (at - from) / (until - from) * (width - LEFT - RIGHT);
      const y = (value) => bottom - Math.min(1, value / most) * (bottom - top);
      paint.font = '11px ' + colours.sans;
      paint.fillStyle = colours.soft;
      paint.strokeStyle = colours.line;
      paint.lineWidth = 1;
      paint.textBaseline = 'middle';
      for (const part of [0, 0.5, 1]) {
        const level = Math.round(y(most * part)) + 0.5;
        paint.beginPath();
        paint.moveTo(LEFT, level);
        paint.lineTo(width - RIGHT, level);
        paint.stroke();
        paint.textAlign = 'right';
        paint.fillText(this.format(most * part), LEFT - 6, level);
      }
      paint.textBaseline = 'alphabetic';
      const span = (until - from) / 1000;
      const behind = (newest - until) / 1000;
      for (const [part, align] of [[0, 'left'], [0.5, 'center'], [1, 'right']]) {
        paint.textAlign = align;
        const ago = span * (1 - part) + behind;
        paint.fillText(part === 1 ? end : '\u2212' + (ago < 10 ? ago.toFixed(ago % 1 ? 1 : 0) : Math.round(ago)) + ' s', LEFT + part * (width - LEFT - RIGHT), height - 5);
      }
      paint.save();
      paint.beginPath();
      paint.rect(LEFT, 0, width - LEFT - RIGHT, height);
      paint.clip();
      this.series.forEach((line) => this.line(paint, points, line, x, y, bottom, colours));
      if (shown < until - 80) {
        paint.strokeStyle = colours.text;
        paint.setLineDash([2, 3]);
        paint.beginPath();
        paint.moveTo(x(shown), top);
        paint.lineTo(x(shown), bottom);
        paint.stroke();
        paint.setLineDash([]);
      }
      paint.restore();
      this.tell(paint, points, x, y, top, bottom, shown, colours);
    }

    line(paint, points, line, x, y, bottom, colours) {
      if (points.length < 2) return;
      const colour = colours[line.colour];
      paint.beginPath();
      points.forEach((point, i) => {
        if (i) paint.lineTo(x(point.at), y(line.of(point))); else paint.moveTo(x(point.at), y(line.of(point)));
      });
      paint.strokeStyle = colour;
      paint.lineWidth = 1.8;
      paint.lineJoin = 'round';
      paint.setLineDash(line.dash || []);
      paint.stroke();
      paint.setLineDash([]);
      if (line.dash) return;
      paint.lineTo(x(points[points.length - 1].at), bottom);
      paint.lineTo(x(points[0].at), bottom);
      paint.closePath();
      paint.globalAlpha = 0.14;
      paint.fillStyle = colour;
      paint.fill();
      paint.globalAlpha = 1;
    }

    /** The values at the moment that is pointed at, or else the one that is shown. */
    tell(paint, points, x, y, top, bottom, shown, colours) {
      const wanted = this.pointed === null ? shown : this.moment(this.pointed);
      let best = null;
      for (const point of points) if (!best || Math.abs(point.at - wanted) < Math.abs(best.at - wanted)) best = point;
      const text = best ? this.series.map((line) => (line.what ? many(line.of(best), line.what) : this.format(line.of(best)))).join(' \u00b7 ') : '\u2013';
      say(this.now, text);
      if (!best || this.pointed === null) return;
      paint.strokeStyle = colours.soft;
      paint.lineWidth = 1;
      paint.beginPath();
      paint.moveTo(x(best.at), top);
      paint.lineTo(x(best.at), bottom);
      paint.stroke();
      for (const line of this.series) {
        paint.fillStyle = colours[line.colour];
        paint.beginPath();
        paint.arc(x(best.at), y(line.of(best)), 3.5, 0, 7);
        paint.fill();
      }
    }
  }

  const LEFT = 40;
  const RIGHT = 4;

  /** A round number that is not below `value`. */
  function niceMost(value) {
    if (value <= 4) return 4;
    const power = 10 ** Math.floor(Math.log10(value));
    for (const factor of [1, 2, 4, 5, 8, 10]) if (power * factor >= value) return power * factor;
    return value;
  }

  const sum = (list, of) => list.reduce((all, item) => all + of(item), 0);

  /** What the charts need of a frame, for one pool; made once for each. */
  function pointOf(frame, id, cache) {
    const made = cache.get(frame);
    if (made && made.id === id) return made;
    const pool = frame.pools.find((other) => other.id === id);
    const point = { id, at: frame.at, busy: 0, jobs: 0, tasks: 0, steals: 0, wakes: 0, isThere: Boolean(pool) };
    if (pool) {
      const working = pool.workers.filter((worker) => worker.state === 'working').length;
      point.busy = working / Math.max(1, Math.min(pool.active, pool.workers.length));
      point.jobs = pool.injected_jobs + sum(pool.workers, (w) => w.forks + w.jobs) + sum(pool.others, (w) => w.queued);
      point.tasks = pool.injected_tasks + sum(pool.workers, (w) => w.tasks);
      point.steals = pool.steals;
      point.wakes = pool.wakes;
    }
    cache.set(frame, point);
    return point;
  }

  /** Points with what is a rate or a mean over the time before them. */
  function measured(points) {
    let first = 0;
    let busy = 0;
    let from = 0;
    return points.map((point, i) => {
      while (point.at - points[first].at > 1000) first += 1;
      busy += point.busy;
      while (point.at - points[from].at > 1000) { busy -= points[from].busy; from += 1; }
      const elapsed = (point.at - points[first].at) / 1000;
      const rate = (of) => (elapsed > 0.04 ? Math.max(0, of(point) - of(points[first])) / elapsed : 0);
      return { at: point.at, util: busy / (i - from + 1), jobs: point.jobs, tasks: point.tasks, rate: rate((p) => p.steals), wakes: rate((p) => p.wakes) };
    });
  }

  /** A table body whose rows are kept and filled again. */
  function fillRows(body, rows, make, fill) {
    while (body.rows.length > rows.length) body.deleteRow(-1);
    while (body.rows.length < rows.length) {
      const row = body.insertRow();
      row.parts = make(row);
    }
    rows.forEach((data, i) => fill(body.rows[i].parts, data));
  }

  function cell(row, className) {
    const made = row.insertCell();
    if (className) made.className = className;
    return made;
  }

  /** A cell with a name and, smaller, a place. */
  function nameCell(row) {
    const place = cell(row, 'name');
    const parts = { name: el('b'), site: el('small') };
    place.append(parts.name, parts.site);
    return parts;
  }

  const nameOf = (row, what) => row.name || what + (row.id !== undefined ? ' ' + row.id : '') || 'without a name';

  class Tables {
    constructor() {
      this.sort = { by: 'since', down: true };
      this.filter = '';
      this.taskLegend = TASK_STATES.map((state) => {
        const item = el('li');
        const mark = stateMark(state, state);
        const n = el('b', '', '0');
        mark.append(n);
        item.append(mark);
        $('task-legend').append(item);
        return { item, n, state };
      });
      for (const button of document.querySelectorAll('[data-sort]')) {
        button.addEventListener('click', () => {
          const by = button.dataset.sort;
          this.sort = { by, down: this.sort.by === by ? !this.sort.down : by === 'since' };
          for (const other of document.querySelectorAll('[data-sort]')) other.parentElement.removeAttribute('aria-sort');
          button.parentElement.setAttribute('aria-sort', this.sort.down ? 'descending' : 'ascending');
          this.shown = null;
        });
      }
      $('filter').addEventListener('input', () => {
        this.filter = $('filter').value.toLowerCase();
        this.shown = null;
      });
    }

    draw(frame, pool) {
      if (frame === this.shown) return;
      this.shown = frame;
      this.isRecording = Boolean(frame.recording);
      this.tasks(frame.tasks);
      this.slow(frame.slow, frame.slow_left);
      this.ticks(frame.ticks, frame.ticks_left);
      this.others(pool);
    }

    tasks(tasks) {
      const by = { state: (t) => t.state, name: (t) => nameOf(t, 'task'), polls: (t) => t.polls || 0, since: (t) => t.since, site: (t) => t.site }[this.sort.by];
      const order = (a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.id < b.id ? -1 : 1);
      const rows = tasks.rows
        .filter((t) => !this.filter || (nameOf(t, 'task') + ' ' + t.site + ' ' + t.state).toLowerCase().includes(this.filter))
        .sort((a, b) => (this.sort.down ? order(b, a) : order(a, b)));
      this.taskLegend.forEach(({ item, n, state }) => {
        say(n, count(tasks[state] || 0));
        item.hidden = !tasks[state] && (state === 'leaked' || state === 'done');
      });
      $('task-legend').hidden = !tasks.total;
      $('tasks-table').hidden = !rows.length;
      $('tasks-empty').hidden = rows.length > 0;
      say($('tasks-empty'), tasks.rows.length ? 'No task in this snapshot matches the filter.' : this.isRecording ? 'A trace has no table of tasks.' : 'The program has no tasks.');
      leftOut('tasks-left', tasks.left, 'task');
      fillRows($('tasks'), rows, (row) => {
        const mark = stateMark('waiting', '');
        cell(row).append(mark);
        const name = nameCell(row);
        const since = cell(row, 'num');
        const polls = cell(row, 'num wide');
        return { mark, name, since, polls, site: cell(row, 'mono wide') };
      }, (parts, t) => {
        setState(parts.mark, t.state);
        say(parts.name.name, nameOf(t, 'task'));
        say(parts.name.site, t.name ? 'task ' + t.id : '');
        say(parts.since, duration(t.since));
        say(parts.polls, t.polls === undefined ? '' : count(t.polls));
        say(parts.site, t.site);
      });
    }

    slow(rows, left) {
      $('slow-table').hidden = !rows.length;
      $('slow-empty').hidden = rows.length > 0;
      leftOut('slow-left', left, 'slow task');
      fillRows($('slow'), rows, (row) => {
        const name = nameCell(row);
        const longest = cell(row, 'num');
        const mark = stateMark('done', '');
        cell(row).append(mark);
        return { name, longest, mark };
      }, (parts, t) => {
        say(parts.name.name, nameOf(t, 'task'));
        say(parts.name.site, t.site);
        say(parts.longest, duration(t.longest));
        parts.longest.classList.toggle('bad', t.longest >= 100);
        setState(parts.mark, t.running ? 'running' : 'done', t.running ? 'still in it' : 'over');
      });
    }

    ticks(rows, left) {
      $('ticks-table').hidden = !rows.length;
      $('ticks-empty').hidden = rows.length > 0;
      say($('ticks-empty'), this.isRecording ? 'A trace has no table of ticks.' : 'The program has no ticks.');
      leftOut('ticks-left', left, 'tick');
      fillRows($('ticks'), rows, (row) => {
        const name = nameCell(row);
        const both = () => {
          const place = cell(row, 'num');
          const parts = [el('span'), el('small')];
          place.append(parts[0], ' ', parts[1]);
          return [...parts, place];
        };
        return { name, tps: both(), mspt: both(), late: both(), skipped: cell(row, 'num') };
      }, (parts, t) => {
        say(parts.name.name, nameOf(t, 'tick'));
        say(parts.name.site, t.site);
        const aim = t.period > 0 ? 1000 / t.period : 0;
        // Of a tick that runs less often than once in 5 seconds, these tell nothing.
        const isRare = t.period > 4000;
        say(parts.tps[0], isRare ? 'every' : t.tps.toFixed(t.tps < 100 ? 1 : 0));
        say(parts.tps[1], isRare ? duration(t.period) : aim ? 'of ' + (aim < 10 ? aim.toFixed(1) : Math.round(aim)) : '');
        parts.tps[0].classList.toggle('bad', !isRare && aim > 0 && t.tps < aim * 0.95 - 0.3);
        // Nothing is known of a tick that has not run lately.
        const known = (ms, digits) => (t.tps > 0 ? ms.toFixed(ms < 100 ? digits : 0) : '\u2013');
        say(parts.mspt[0], known(t.mspt, 2));
        say(parts.mspt[1], 'max ' + known(t.mspt_max, 1));
        parts.mspt[0].classList.toggle('bad', t.period > 0 && t.mspt > t.period);
        say(parts.late[0], known(t.late, 2));
        say(parts.late[1], 'max ' + known(t.late_max, 1));
        say(parts.skipped, count(t.skipped));
        parts.skipped.classList.toggle('bad', t.skipped > 0);
      });
    }

    others(pool) {
      const rows = pool ? pool.others : [];
      $('others-table').hidden = !rows.length;
      $('others-empty').hidden = rows.length > 0;
      leftOut('others-left', pool ? pool.others_left : 0, 'thread');
      fillRows($('others'), rows, (row) => {
        const mark = stateMark('waiting', '');
        cell(row).append(mark);
        return { mark, name: nameCell(row), runs: cell(row, 'name'), queued: cell(row, 'num') };
      }, (parts, t) => {
        setState(parts.mark, t.state);
        say(parts.name.name, t.name || 'thread ' + t.thread);
        say(parts.name.site, t.role);
        say(parts.runs, inside(t) || '\u2013');
        say(parts.queued, count(t.queued));
      });
    }
  }

  const ZOOMS = [30, 20, 10, 5, 2, 1];
  const THEMES = ['system', 'light', 'dark'];

  class Page {
    constructor(source) {
      this.source = source;
      this.player = new Player(source.isEmbedded);
      this.workers = new Workers();
      this.arrows = new Arrows(this.workers);
      this.tables = new Tables();
      this.zoom = 0;
      this.pool = null;
      this.points = new WeakMap();
      this.connection = { name: 'waiting', text: 'connecting' };
      this.skipped = 0;
      this.skips = [];
      const percent = (value) => Math.round(value * 100) + '%';
      this.charts = [
        new Chart('c-util', [{ of: (p) => p.util, colour: 'working' }], 1, percent),
        new Chart('c-rate', [{ of: (p) => p.rate, colour: 'arrow' }], 0, count),
        new Chart('c-queues', [{ of: (p) => p.jobs, colour: 'jobs', what: 'job' }, { of: (p) => p.tasks, colour: 'tasks', dash: [5, 3], what: 'task' }], 0, count),
      ];
      this.bind();
      this.setTheme(this.storedTheme());
    }

    // Some browsers have no storage for a page without an origin.
    storedTheme() {
      try { return localStorage.getItem('heist-theme') || 'system'; } catch (error) { return 'system'; }
    }

    setTheme(theme) {
      this.theme = THEMES.includes(theme) ? theme : 'system';
      if (this.theme === 'system') delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = this.theme;
      say($('theme-text'), this.theme);
      try { localStorage.setItem('heist-theme', this.theme); } catch (error) { /* The next visit begins with the system's. */ }
      this.readColours();
    }

    readColours() {
      const probe = el('span');
      document.body.append(probe);
      const colours = {};
      for (const name of ['panel', 'line', 'text', 'soft', 'working', 'arrow', 'jobs', 'tasks']) {
        probe.style.color = 'var(--' + name + ')';
        colours[name] = getComputedStyle(probe).color;
      }
      colours.sans = getComputedStyle(document.body).fontFamily;
      probe.remove();
      this.colours = colours;
      this.drawn = null;
      this.arrows.forget();
    }

    bind() {
      const { player } = this;
      const toggle = () => player.setPaused(!player.isPaused);
      const nextTheme = () => this.setTheme(THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length]);
      const help = () => $('help').showModal();
      const zoom = (n) => { this.zoom = Math.max(0, Math.min(ZOOMS.length - 1, this.zoom + n)); this.drawn = null; };
      $('pause').addEventListener('click', toggle);
      $('live').addEventListener('click', () => player.goLive());
      $('theme').addEventListener('click', nextTheme);
      $('help-open').addEventListener('click', help);
      $('zoom-in').addEventListener('click', () => zoom(1));
      $('zoom-out').addEventListener('click', () => zoom(-1));
      $('pool').addEventListener('change', () => { this.pool = $('pool').value; this.drawn = null; });
      $('scrub').addEventListener('input', () => {
        player.seek(player.oldest + $('scrub').value / 1000 * (player.newest - player.oldest));
      });
      const speeds = [...document.querySelectorAll('[data-speed]')];
      for (const button of speeds) button.addEventListener('click', () => player.setSpeed(Number(button.dataset.speed)));
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.readColours());
      for (const chart of this.charts) {
        chart.canvas.addEventListener('click', (event) => player.seek(chart.moment(event.offsetX)));
        chart.canvas.addEventListener('wheel', (event) => {
          if (!event.ctrlKey && !event.metaKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? 1 : -1);
        }, { passive: false });
      }
      const keys = {
        ' ': toggle, 'l': () => player.goLive(), 't': nextTheme, '?': help, '+': () => zoom(1), '=': () => zoom(1), '-': () => zoom(-1),
        'ArrowLeft': () => player.step(-1), 'ArrowRight': () => player.step(1), '/': () => $('filter').focus(),
        '1': () => player.setSpeed(1), '2': () => player.setSpeed(0.5), '3': () => player.setSpeed(0.25), '4': () => player.setSpeed(0.1),
      };
      document.addEventListener('keydown', (event) => {
        const isTyping = event.target.matches('input, select, textarea');
        const isPressing = event.key === ' ' && event.target.matches('button');
        const key = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
        if (isTyping || isPressing || !key || event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
        event.preventDefault();
        key();
      });
      const order = async (what) => {
        try {
          const answer = await fetch('/demo/' + what, { method: 'POST' });
          say($('demo-answer'), answer.ok ? '' : (await answer.text()).trim());
        } catch (error) {
          say($('demo-answer'), 'The demonstration does not answer; it may have ended.');
        }
      };
      $('demo-run').addEventListener('click', () => order(this.demoRuns ? 'pause' : 'start'));
      $('demo-reseed').addEventListener('click', () => order('reseed'));
    }

    start() {
      this.source.start({
        frame: (frame) => this.player.add(frame),
        skipped: (n) => this.skip(n),
        state: (name, text) => { this.connection = { name, text }; },
      });
      let before = performance.now();
      const turn = (now) => {
        this.player.advance(Math.min(250, now - before));
        before = now;
        this.draw();
        requestAnimationFrame(turn);
      };
      requestAnimationFrame(turn);
    }

    skip(n) {
      const now = performance.now();
      this.skips = this.skips.filter(([at]) => now - at < 5000);
      this.skips.push([now, n]);
      this.skipped += n;
      $('skipped').hidden = false;
      say($('skipped'), count(this.skipped) + (this.skipped === 1 ? ' snapshot was' : ' snapshots were') + ' skipped since the page was opened, because this browser was busy.');
    }

    draw() {
      const frame = this.player.frame();
      this.drawTransport();
      if (!frame) return;
      $('main').dataset.at = this.player.shown.toFixed(1);
      this.choosePool(frame);
      const pool = frame.pools.find((other) => other.id === this.pool) || null;
      if (frame !== this.drawn) {
        this.drawn = frame;
        this.drawHead(frame);
        this.drawCharts(frame, pool);
        this.workers.draw(pool, this.busy(pool));
        this.tables.draw(frame, pool);
      } else if (this.charts.some((chart) => chart.pointed !== null)) {
        this.drawCharts(frame, pool);
      }
      this.arrows.draw(this.player, pool ? pool.id : null, this.colours);
    }

    /** How much of the last second each worker has worked. */
    busy(pool) {
      if (!pool) return [];
      const { player } = this;
      const until = player.place(player.shown);
      const sums = pool.workers.map(() => 0);
      let n = 0;
      for (let i = until; i >= 0 && player.frames[i].at > player.shown - 1000; i -= 1) {
        const other = player.frames[i].pools.find(({ id }) => id === pool.id);
        if (!other) break;
        n += 1;
        other.workers.forEach((worker, k) => { if (k < sums.length && worker.state === 'working') sums[k] += 1; });
      }
      return sums.map((all) => all / Math.max(1, n));
    }

    choosePool(frame) {
      const ids = frame.pools.map((pool) => pool.id + '\n' + pool.name).join('\n');
      if (ids === this.poolIds) return;
      this.poolIds = ids;
      if (!frame.pools.some((pool) => pool.id === this.pool)) {
        // The busiest so far.
        const [first] = [...frame.pools].sort((a, b) => b.steals + b.wakes - a.steals - a.wakes);
        this.pool = first ? first.id : null;
      }
      $('pool-choice').hidden = frame.pools.length < 2;
      $('pool').replaceChildren(...frame.pools.map((pool) => {
        const option = el('option', '', pool.name);
        option.value = pool.id;
        option.selected = pool.id === this.pool;
        return option;
      }));
    }

    drawTransport() {
      const { player, connection } = this;
      const behind = player.newest - (player.shown === null ? player.newest : player.shown);
      const isBehind = behind > 300 && !player.isLive;
      say($('pause'), player.isPaused ? 'Go on' : 'Pause');
      $('pause').setAttribute('aria-pressed', String(player.isPaused));
      for (const button of document.querySelectorAll('[data-speed]')) {
        button.setAttribute('aria-pressed', String(Number(button.dataset.speed) === player.speed));
      }
      say($('lag'), isBehind ? '\u2212' + (behind / 1000).toFixed(1) + ' s' : player.isEmbedded ? 'end' : 'now');
      say($('live'), player.isEmbedded ? 'From the start' : 'Go live');
      $('live').hidden = player.isEmbedded ? !player.isPaused : player.isLive;
      if (document.activeElement !== $('scrub') || !player.isPaused) {
        const whole = player.newest - player.oldest;
        $('scrub').value = String(whole > 0 ? Math.round((player.shown - player.oldest) / whole * 1000) : 1000);
      }
      let [is, text] = [connection.name, connection.text];
      if (is !== 'lost' && player.isPaused) [is, text] = ['paused', 'paused'];
      else if (is !== 'lost' && player.speed !== 1) [is, text] = ['slow', 'slow motion, ' + player.speed + '\u00d7'];
      else if (is === 'live' && isBehind) text = 'replay';
      $('status').dataset.is = is;
      say($('status-text'), is === 'lost' ? 'not connected' : text);
      const lately = sum(this.skips, ([at, n]) => (performance.now() - at < 5000 ? n : 0));
      const notice = is === 'lost' ? connection.text
        : lately >= 10 ? 'This browser is slower than the program sends: ' + count(lately) + ' snapshots of the last 5 seconds were skipped.' : '';
      $('notice').hidden = !notice;
      say($('notice'), notice);
    }

    drawHead(frame) {
      leftOut('pools-left', frame.pools_left, 'pool');
      const program = $('program');
      const key = frame.program + '\n' + frame.pid + '\n' + frame.cores;
      if (this.programKey !== key) {
        this.programKey = key;
        program.replaceChildren(el('b', '', frame.program), frame.recording ? '' : ', process ' + frame.pid + ', ' + frame.cores + (frame.cores === 1 ? ' core' : ' cores'));
        document.title = frame.program + ' \u2013 heist live';
      }
      const { demo } = frame;
      $('demo').hidden = !demo;
      if (demo) {
        this.demoRuns = demo.runs;
        say($('demo-note'), demo.note);
        say($('demo-run'), demo.runs ? 'Pause the work' : 'Start the work');
        $('demo-buttons').hidden = this.source.isEmbedded;
      }
    }

    drawCharts(frame, pool) {
      const { player } = this;
      // The present is at the right, unless the moment that is shown would be outside.
      const whole = player.isEmbedded ? Math.max(1000, Math.min(KEPT_MS, player.newest - player.oldest)) : KEPT_MS;
      const length = Math.min(ZOOMS[this.zoom] * 1000, whole);
      const until = Math.max(Math.min(player.newest, Math.max(player.shown + length * 0.25, player.newest - KEPT_MS)), player.shown);
      const end = player.shown < player.newest - length ? until : player.newest;
      const from = end - length;
      const id = this.pool;
      const first = player.place(from - 1200);
      const points = [];
      for (let i = first; i < player.frames.length && player.frames[i].at <= end; i += 1) {
        const point = pointOf(player.frames[i], id, this.points);
        if (point.isThere) points.push(point);
      }
      const all = measured(points);
      const shown = all.filter((point) => point.at >= from - 100);
      const last = end < player.newest ? '\u2212' + ((player.newest - end) / 1000).toFixed(1) + ' s' : player.isEmbedded ? 'end' : 'now';
      for (const chart of this.charts) chart.draw(shown, from, end, player.shown, last, player.newest, this.colours);
      say($('zoom-text'), Math.round(length / 1000) + ' s');
      $('zoom-in').disabled = this.zoom === ZOOMS.length - 1;
      $('zoom-out').disabled = this.zoom === 0;
      this.drawFigures(frame, pool, all);
    }

    drawFigures(frame, pool, points) {
      let now = null;
      for (const point of points) if (point.at <= this.player.shown) now = point;
      const working = pool ? pool.workers.filter((worker) => worker.state === 'working').length : 0;
      say($('f-working'), pool ? String(working) : '\u2013');
      say($('f-working-more'), pool ? 'of ' + pool.active + (pool.active === 1 ? ' worker' : ' workers') : 'of no workers');
      say($('f-util'), now ? Math.round(now.util * 100) + '%' : '\u2013');
      say($('f-steals'), now ? count(now.rate) : '\u2013');
      say($('f-steals-more'), pool ? 'a second, ' + count(pool.steals) + ' in all' : 'a second');
      say($('f-queued'), now ? count(now.jobs + now.tasks) : '\u2013');
      say($('f-queued-more'), now ? many(now.jobs, 'job') + ', ' + many(now.tasks, 'task') : 'jobs and tasks');
      say($('f-tasks'), count(frame.tasks.total));
      say($('f-tasks-more'), frame.tasks.leaked ? count(frame.tasks.leaked) + ' nobody can wake' : 'not ended');
      say($('f-wakes'), now ? count(now.wakes) : '\u2013');
    }
  }

  const data = $('heist-data');
  const page = new Page(data ? new EmbeddedSource(data.textContent) : new ServerSource());
  page.start();
})();

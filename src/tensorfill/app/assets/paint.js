"use strict";
// Painting what is missing over a picture: the strokes are drawn at the picture's own size, whatever it is shown at.
const COLOURS = [[224, 117, 45], [0, 190, 215], [226, 40, 190], [120, 210, 0]];

// The colour that is furthest from nearly all pixels of the picture.
function contrastingColour(image) {
  const small = Object.assign(document.createElement("canvas"), { width: 32, height: 32 });
  const pen = small.getContext("2d");
  pen.drawImage(image, 0, 0, 32, 32);
  const px = pen.getImageData(0, 0, 32, 32).data;
  const nearest = ([r, g, b]) => {
    const far = [];
    for (let i = 0; i < px.length; i += 4) far.push((px[i] - r) ** 2 + (px[i + 1] - g) ** 2 + (px[i + 2] - b) ** 2);
    return far.sort((one, other) => one - other)[Math.floor(far.length / 20)];
  };
  return COLOURS.reduce((best, colour) => (nearest(colour) > 1.2 * nearest(best) ? colour : best));
}

// Zoom and pan: the board grows inside its frame, which scrolls.
class Zoom {
  constructor(frame, board, changed) {
    Object.assign(this, { frame, board, changed, factor: 1 });
    frame.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.to(this.factor * Math.exp(-e.deltaY / 300), e);
    }, { passive: false });
  }

  // The place under the pointer, or else the middle, stays where it is.
  to(factor, at) {
    const { frame, board } = this;
    const box = frame.getBoundingClientRect();
    const x = at ? at.clientX - box.left : frame.clientWidth / 2;
    const y = at ? at.clientY - box.top : frame.clientHeight / 2;
    const share = [(frame.scrollLeft + x) / board.clientWidth, (frame.scrollTop + y) / board.clientHeight];
    const fit = board.clientWidth / this.factor;
    const natural = board.querySelector("img").naturalWidth;
    this.factor = Math.min(Math.max(factor, 1), Math.max(4, (8 * natural) / fit));
    if (this.factor < 1.01) this.factor = 1;
    board.classList.toggle("zoomed", this.factor > 1);
    board.classList.toggle("close", this.factor * fit > 2 * natural);
    board.style.width = this.factor > 1 ? `${this.factor * fit}px` : "";
    frame.scrollTo(share[0] * board.clientWidth - x, share[1] * board.clientHeight - y);
    this.changed();
  }

  pan(event) { this.frame.scrollBy({ left: -event.movementX, top: -event.movementY, behavior: "instant" }); }
}

class Paint {
  constructor(canvas, ring, zoom, changed) {
    Object.assign(this, { canvas, ring, zoom, changed });
    this.pen = canvas.getContext("2d", { willReadFrequently: true });
    this.erasing = this.moving = false;
    this.diameter = 24;
    this.colour = COLOURS[0];
    this.strokes = [];
    this.at = null;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      if (this.moving || e.button === 1) e.preventDefault();
      else this.begin(this.place(e));
    });
    canvas.addEventListener("pointermove", (e) => {
      if (e.buttons && !this.stroke) return this.zoom.pan(e);
      if (this.moving) return;
      this.point(this.place(e));
      if (this.stroke) this.extend(this.at);
    });
    canvas.addEventListener("pointerup", () => this.end());
    canvas.addEventListener("pointercancel", () => this.end());
    canvas.addEventListener("pointerleave", () => { if (!this.stroke) this.ring.hidden = true; });
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("blur", () => { this.ring.hidden = true; });
  }

  open(width, height, colour, strokes) {
    this.canvas.width = width;
    this.canvas.height = height;
    this.colour = colour;
    this.strokes = strokes;
    this.at = null;
    this.diameter = Math.max(6, Math.round(Math.max(width, height) / 28));
    this.redraw();
  }

  get empty() { return !this.strokes.slice(this.strokes.findLastIndex((s) => s.clear) + 1).some((s) => !s.erase); }
  get scale() { return this.canvas.width / (this.canvas.clientWidth || 1); }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) * this.scale, y: (event.clientY - box.top) * this.scale };
  }

  point(at) {
    this.at = at;
    const size = this.diameter / this.scale;
    Object.assign(this.ring.style, { left: at.x / this.scale + "px", top: at.y / this.scale + "px", width: size + "px", height: size + "px" });
    this.ring.hidden = false;
  }

  begin(at) {
    this.point(at);
    this.stroke = { erase: this.erasing, width: this.diameter, points: [at] };
    this.strokes.push(this.stroke);
    this.draw(this.stroke);
  }

  extend(at) {
    this.stroke.points.push(at);
    this.draw({ ...this.stroke, points: this.stroke.points.slice(-2) });
  }

  end() {
    if (!this.stroke) return;
    this.stroke = null;
    this.changed();
  }

  draw(stroke) {
    const pen = this.pen;
    if (stroke.clear) return pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.globalCompositeOperation = stroke.erase ? "destination-out" : "source-over";
    pen.strokeStyle = pen.fillStyle = `rgb(${this.colour.join(" ")})`;
    pen.lineCap = pen.lineJoin = "round";
    pen.lineWidth = stroke.width;
    pen.beginPath();
    const [first, ...others] = stroke.points;
    pen.moveTo(first.x, first.y);
    for (const p of others.length ? others : [first]) pen.lineTo(p.x + 0.01, p.y);
    pen.stroke();
  }

  redraw() {
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const stroke of this.strokes) this.draw(stroke);
    this.changed();
  }

  undo() { this.strokes.pop(); this.redraw(); }
  clear() { this.strokes.push({ clear: true }); this.redraw(); }

  // Arrow keys move the brush by half its width, with Shift by one pixel; space paints there.
  key(event) {
    const step = event.shiftKey ? 1 : Math.max(1, this.diameter / 2);
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const at = this.at || { x: this.canvas.width / 2, y: this.canvas.height / 2 };
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      this.point({ x: Math.min(Math.max(at.x + dx, 0), this.canvas.width), y: Math.min(Math.max(at.y + dy, 0), this.canvas.height) });
      this.ring.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    } else if (event.key === " " || event.key === "Enter") {
      this.begin(at);
      this.end();
    } else if (event.key === "+" || event.key === "-") {
      this.diameter = Math.max(2, Math.round(this.diameter * (event.key === "+" ? 1.25 : 0.8)));
      this.point(at);
      this.changed();
    } else {
      return;
    }
    event.preventDefault();
  }

  // The share painted over, of a sample of the pixels.
  share() {
    const { width, height } = this.canvas;
    if (!width || this.empty) return 0;
    const alpha = this.pen.getImageData(0, 0, width, height).data;
    let count = 0;
    for (let i = 3; i < alpha.length; i += 4) count += alpha[i] > 0;
    return count / (width * height);
  }

  // The mask as a PNG: black = missing, white = known, nothing in between.
  mask() {
    const { width, height } = this.canvas;
    const image = this.pen.getImageData(0, 0, width, height);
    const px = image.data;
    for (let i = 0; i < px.length; i += 4) {
      px[i] = px[i + 1] = px[i + 2] = px[i + 3] > 0 ? 0 : 255;
      px[i + 3] = 255;
    }
    const copy = Object.assign(document.createElement("canvas"), { width, height });
    copy.getContext("2d").putImageData(image, 0, 0);
    return new Promise((done) => copy.toBlob(done, "image/png"));
  }
}

"use strict";
// Painting what is missing over a picture: the strokes are drawn at the picture's own size, whatever it is shown at.
class Paint {
  constructor(canvas, ring, changed) {
    this.canvas = canvas;
    this.ring = ring;
    this.changed = changed;
    this.pen = canvas.getContext("2d", { willReadFrequently: true });
    this.erasing = false;
    this.diameter = 24;
    this.strokes = [];
    this.at = null;
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); this.begin(this.place(e)); });
    canvas.addEventListener("pointermove", (e) => { this.point(this.place(e)); if (this.stroke) this.extend(this.at); });
    canvas.addEventListener("pointerup", () => this.end());
    canvas.addEventListener("pointercancel", () => this.end());
    canvas.addEventListener("pointerleave", () => { if (!this.stroke) this.ring.hidden = true; });
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("blur", () => { this.ring.hidden = true; });
  }

  open(width, height) {
    this.canvas.width = width;
    this.canvas.height = height;
    this.strokes = [];
    this.at = null;
    this.diameter = Math.max(6, Math.round(Math.max(width, height) / 28));
    this.redraw();
  }

  get empty() { return !this.strokes.some((s) => !s.erase); }
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
    pen.globalCompositeOperation = stroke.erase ? "destination-out" : "source-over";
    pen.strokeStyle = pen.fillStyle = "rgb(224, 117, 45)";
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
  clear() { this.strokes = []; this.redraw(); }

  // Arrow keys move the brush by half its width, with Shift by one pixel; space paints there.
  key(event) {
    const step = event.shiftKey ? 1 : Math.max(1, this.diameter / 2);
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const at = this.at || { x: this.canvas.width / 2, y: this.canvas.height / 2 };
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      this.point({ x: Math.min(Math.max(at.x + dx, 0), this.canvas.width), y: Math.min(Math.max(at.y + dy, 0), this.canvas.height) });
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

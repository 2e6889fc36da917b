"use strict";
// The range input lies invisibly over the two pictures: dragging, touching and the arrow keys come with it.
function compare(inside) {
  for (const box of inside.querySelectorAll(".compare")) {
    const range = box.querySelector("input");
    const show = () => {
      box.style.setProperty("--at", range.value + "%");
      range.setAttribute("aria-valuetext", range.value + " % before, " + (100 - range.value) + " % after");
    };
    range.addEventListener("input", show);
    show();
  }
}
compare(document);

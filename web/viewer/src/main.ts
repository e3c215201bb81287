import { mount } from "svelte";

import "uplot/dist/uPlot.min.css";
import "./app.css";
import App from "./App.svelte";
import { boot } from "./app.svelte.ts";

const target = document.getElementById("app");
if (target !== null) {
  target.textContent = "";
  mount(App, { target });
  void boot();
}

// Browsers start no worker from a file, so where pages are read as files the search runs in a hidden
// frame, which takes and gives messages as a worker does.
(() => {
  "use strict";
  if (window.location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      this.inside = inside;
      const load = (script) =>
        new Promise((resolve, reject) => {
          const element = inside.document.createElement("script");
          element.onload = () => resolve();
          element.onerror = () => reject(new Error(`cannot load ${script}`));
          element.src = String(script);
          inside.document.body.append(element);
        });
      // In a worker this waits; the search waits for the promise as well.
      inside.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => load(script)), Promise.resolve());
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(new URL(address, document.baseURI));
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
  // By this name the search knows that it has to find its own folder.
  window.IFrameWorker = FrameWorker;
})();

// Pages that are opened from the disk may start no Worker, so the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc =
        "<script>" +
        "postMessage = (data) => parent.postMessage({ fromSearch: data }, '*');" +
        "</script><body><script src='" + new URL(url, location.href) + "'></script></body>";
      this.ready = new Promise((loaded) => { this.frame.onload = loaded; });
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow || !("fromSearch" in event.data)) return;
        const message = new MessageEvent("message", { data: event.data.fromSearch });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      document.body.appendChild(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

// Names that are offered while somebody writes an assertion: metrics, columns, and datasets after dataset='.
// A list under the field, by the pattern of the combobox: the focus stays in the field, arrow keys choose.
(() => {
  const field = document.getElementById("assertion");
  const source = document.getElementById("completions");
  if (!field || !source) return;
  const known = JSON.parse(source.textContent);
  const MOST = 8;
  const list = document.createElement("ul");
  list.id = "offers";
  list.className = "offers";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", assayText("names to take"));
  field.after(list);
  const counted = document.createElement("p");
  counted.className = "sr-only";
  counted.setAttribute("role", "status");
  list.after(counted);
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-haspopup", "listbox");

  let offered = [];
  let chosen = -1;
  let asking = null; // the request for names of datasets

  // What is being written before the cursor: a dataset's name, or a word outside of quotes.
  const place = () => {
    const before = field.value.slice(0, field.selectionStart);
    const dataset = /\bdataset\s*=\s*(['"])([^'"]*)$/.exec(before);
    if (dataset) return { kind: "dataset", word: dataset[2], quote: dataset[1] };
    if (isInText(before)) return null;
    const word = /(`[^`]*|[A-Za-z_][\w.]*)$/.exec(before);
    if (!word) return null;
    return { kind: "name", word: word[1], isInCall: depth(before) > 0 };
  };

  const isInText = (before) => {
    let quote = "";
    for (const letter of before) {
      if (quote) quote = letter === quote ? "" : quote;
      else if (letter === "'" || letter === '"') quote = letter;
    }
    return quote !== "";
  };

  const depth = (before) => (before.match(/\(/g) || []).length - (before.match(/\)/g) || []).length;

  const matching = (at) => {
    const wanted = at.word.replace(/`/g, "").toLowerCase();
    const names = (some) => some.map((one) => ({ ...one, bare: one.name.replace(/`/g, "").toLowerCase() }));
    const columns = names(known.columns).map((one) => ({ ...one, insert: one.name }));
    const calls = names(known.calls).map((one) => ({ ...one, insert: `${one.name}()`, isCall: true, takes: /\((?!\))/.test(one.call) }));
    const all = at.isInCall ? [...columns, ...calls] : [...calls, ...columns];
    const starts = all.filter((one) => one.bare.startsWith(wanted));
    const holds = all.filter((one) => !one.bare.startsWith(wanted) && one.bare.includes(wanted));
    return [...starts, ...holds].slice(0, MOST);
  };

  const show = (some) => {
    offered = some;
    chosen = some.length ? 0 : -1;
    list.replaceChildren(
      ...some.map((one, i) => {
        const item = document.createElement("li");
        item.id = `offer-${i}`;
        item.setAttribute("role", "option");
        const call = document.createElement("code");
        call.textContent = one.call;
        const help = document.createElement("span");
        help.textContent = one.help || "";
        item.append(call, help);
        item.addEventListener("mousedown", (event) => { event.preventDefault(); take(i); });
        return item;
      }),
    );
    list.hidden = !some.length;
    counted.textContent = some.length ? assayText("names", { count: some.length, first: some[0].call }) : "";
    mark();
  };

  const mark = () => {
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
    if (chosen < 0) field.removeAttribute("aria-activedescendant");
    else {
      field.setAttribute("aria-activedescendant", `offer-${chosen}`);
      list.children[chosen].scrollIntoView({ block: "nearest" });
    }
  };

  const close = () => { if (asking) asking.abort(); show([]); };

  const take = (i) => {
    const at = place();
    const one = offered[i];
    if (!at || !one) return close();
    const end = field.selectionStart;
    const start = end - at.word.length;
    let text = one.insert;
    const rest = field.value.slice(end);
    if (one.isCall && rest.startsWith("(")) text = one.name;
    if (at.kind === "dataset" && !rest.startsWith(at.quote)) text += at.quote;
    field.setRangeText(text, start, end, "end");
    if (one.isCall && text.endsWith("()") && one.takes) field.selectionStart = field.selectionEnd = field.selectionEnd - 1;
    close();
    isTaking = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    isTaking = false;
  };
  let isTaking = false;

  const datasets = async (word) => {
    if (asking) asking.abort();
    asking = new AbortController();
    try {
      const answer = await fetch(`/api/v1/datasets?limit=${MOST}${word && `&q=${encodeURIComponent(word)}`}`, { signal: asking.signal, headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const found = (await answer.json()).results;
      show(found.map((one) => ({ call: one.name, insert: one.name, help: one.description || assayText("owner", { name: one.owner }) })));
    } catch (error) {
      if (error.name !== "AbortError") show([]);
    }
  };

  field.addEventListener("input", () => {
    if (isTaking) return;
    const at = place();
    if (!at) return close();
    if (at.kind === "dataset") datasets(at.word);
    else {
      const some = matching(at);
      show(some.length === 1 && some[0].name === at.word ? [] : some);
    }
  });

  field.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      chosen = (chosen + steps[event.key] + offered.length) % offered.length;
      mark();
    } else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && chosen >= 0) take(chosen);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });

  field.addEventListener("blur", close);

  // The message of a check belongs to the field that it is about.
  const checked = document.getElementById("checked");
  const watch = new MutationObserver(() => {
    const wrong = document.getElementById("wrong");
    field.setAttribute("aria-describedby", wrong ? "assertion-help wrong" : "assertion-help");
    if (wrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    document.querySelectorAll("#wrong pre").forEach((drawn) => { // the carets in sight
      const lines = drawn.textContent.split("\n");
      const longest = Math.max(...lines.map((line) => line.length));
      drawn.scrollLeft = (lines.at(-1).indexOf("^") / longest) * drawn.scrollWidth - drawn.clientWidth / 2;
    });
  });
  watch.observe(field.closest(".writing"), { childList: true, subtree: true });
  let hadFocus = false; // what had it may be gone from the new part: the keyboard goes on from there, not from the page's begin
  document.body.addEventListener("htmx:before:swap", () => { hadFocus = checked.contains(document.activeElement); });
  document.body.addEventListener("htmx:after:swap", () => {
    if (!hadFocus || checked.contains(document.activeElement)) return;
    checked.tabIndex = -1;
    checked.focus({ preventScroll: true });
  });
  document.body.addEventListener("htmx:response:error", () => {
    const said = document.createElement("p");
    said.className = "flash error";
    said.setAttribute("role", "alert");
    said.textContent = assayText("not checked");
    checked.replaceChildren(said);
  });
})();

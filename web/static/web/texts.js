// The texts of the other scripts, in the language of the page, with what they name in place of %(name)s.
window.assayText = (() => {
  const texts = JSON.parse(document.getElementById("texts").textContent);
  return (name, given = {}) => texts[name].replace(/%\((\w+)\)s/g, (_, part) => given[part]);
})();

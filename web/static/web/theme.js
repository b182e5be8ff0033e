// The colours of the style sheet, for scripts that draw on a canvas.
window.assayTheme = () => {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
};
window.assayOnThemeChange = (draw) =>
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

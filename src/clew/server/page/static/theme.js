// @ts-check
// Runs before the first paint, so that a dark page never flashes white.
(() => {
  const theme = localStorage.getItem("clew.theme");
  if (theme) document.documentElement.dataset.theme = theme;
})();

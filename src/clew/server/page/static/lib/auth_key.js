/** The second secret beside the cookie: cookies are shown to every port of this machine, this is not. The link of
 * `clew web` brings it behind the `#`, which no server is told. */

const NAME = "clew.key";

const brought = location.hash.match(/^#k=([\w.~-]+)$/);
if (brought) {
  localStorage.setItem(NAME, brought[1]);
  history.replaceState(null, "", location.pathname);
}

/** The header of every request to the daemon; another tab may just have brought another one. */
export function keyHeader() {
  const key = localStorage.getItem(NAME);
  return key ? { "X-Clew-Key": key } : {};
}

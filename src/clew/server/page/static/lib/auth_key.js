// @ts-check
/** The page's key: a second secret beside the cookie. A browser sends cookies to every port of this machine, but not
 * this key. The link of `clew web` carries it behind the `#`, which is sent to no server. */

const STORED_AS = "clew.key";

const fromLink = location.hash.match(/^#k=([\w.~-]+)$/);
if (fromLink) {
  localStorage.setItem(STORED_AS, fromLink[1]);
  history.replaceState(null, "", location.pathname);
}

/**
 * Headers of every request to the daemon. Read each time, since another tab may have stored a newer key.
 * @returns {Record<string, string>}
 */
export function authHeaders() {
  const key = localStorage.getItem(STORED_AS);
  return key ? { "X-Clew-Key": key } : {};
}

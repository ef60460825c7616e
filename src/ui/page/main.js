// Takes the token out of the address bar.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", "/");
}

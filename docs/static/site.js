// Scenes are as light or dark as the site: they read the theme from this key when they load.
const KEY = 'parkade-theme';
const root = document.documentElement;

function tell() {
  const { theme } = root.dataset; // "light" or "dark"; the site resolves "auto"
  try {
    if (localStorage.getItem(KEY) === theme) return;
    localStorage.setItem(KEY, theme);
  } catch { return; } // without storage scenes follow the system
  for (const frame of document.querySelectorAll('figure.scene iframe')) frame.src = frame.src;
}

new MutationObserver(tell).observe(root, { attributeFilter: ['data-theme'] });
tell();

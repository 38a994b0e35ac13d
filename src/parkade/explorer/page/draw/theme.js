// Light or dark. The theme belongs to the reader, not to the view: it stays out of links.

const KEY = 'parkade-theme';
const root = document.documentElement;

function stored() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

export class Theme {
  /** `onChange` is called after each change. */
  constructor(onChange) {
    this.onChange = onChange;
    this.system = matchMedia('(prefers-color-scheme: dark)');
    this.system.addEventListener('change', () => this.apply());
  }

  get dark() { return root.dataset.theme === 'dark'; }

  /** Take this theme, or the one the reader chose, or the system's. */
  apply(name = stored() ?? (this.system.matches ? 'dark' : 'light')) {
    root.dataset.theme = name;
    this.onChange();
  }

  switch() {
    const next = this.dark ? 'light' : 'dark';
    try { localStorage.setItem(KEY, next); } catch { /* a file may have no storage */ }
    this.apply(next);
  }
}

function start() {
  read_address();
  build_head();
  build_tools();
  build_nodes();
  build_cases();
  build_curves();
  build_pairs();
  build_places();
  build_facts();
  build_run();
  tell_all();
  // The address behind the # is the filter's.
  document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); at_id('cases').focus(); });
  addEventListener('hashchange', () => { read_address(); tell_all(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', tell_all);
  // Paper is light.
  addEventListener('beforeprint', () => { state.prints = true; show_theme(); pictures_changed(); draw_all(); });
  addEventListener('afterprint', () => { state.prints = false; tell_all(); });
  addEventListener('scroll', hide_tip, {passive: true});
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();

/** The site: pages that prepare.ts and TypeDoc wrote, a search that needs no server, no dead link. */
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {defineConfig, type DefaultTheme} from 'vitepress';

const pages = path.join(import.meta.dirname, '../pages');
const notebooks = JSON.parse(readFileSync(path.join(pages, '.notebooks.json'), 'utf8')) as {
  file: string;
  title: string;
}[];

const page = (text: string, link: string): DefaultTheme.SidebarItem => ({text, link});
const entries = {
  lib: 'stiffgrad',
  models: 'stiffgrad/models',
  training: 'stiffgrad/training',
  plot: 'stiffgrad/plot',
  fem: 'stiffgrad/fem',
};

/** The entries; their pages list every name, which a sidebar on each of 500 pages would repeat. */
const reference = [
  {
    text: 'Reference',
    items: [
      page('All entries', '/api/'),
      ...Object.entries(entries).map(([entry, text]) => page(text, `/api/${entry}/`)),
    ],
  },
];

const guide: DefaultTheme.SidebarItem[] = [
  {
    text: 'Begin',
    items: [
      page('What it is', '/'),
      page('Getting started', '/getting-started'),
      page('Coming from elsewhere', '/coming-from'),
      page('Choosing', '/choosing'),
      page('The command', '/command'),
    ],
  },
  {
    text: 'Guide',
    items: [
      page('Schemes', '/schemes'),
      page('Constraints and contacts', '/constraints'),
      page('Time, steps, events', '/time-and-events'),
      page('Delay equations', '/delays'),
      page('Stochastic equations', '/stochastic'),
      page('Newton and gradients', '/newton-and-gradients'),
      page('Adjoints', '/adjoints'),
      page('Models', '/models'),
      page('Training and identification', '/training'),
      page('Deformable bodies', '/fem'),
      page('Pictures', '/pictures'),
      page('Precision', '/precision'),
    ],
  },
  {
    text: 'Notebooks',
    items: [page('About them', '/notebooks'), ...notebooks.map(({file, title}) => page(title, `/notebooks/${file}`))],
  },
  {
    text: 'Measured',
    items: [
      page('Benchmarks', '/benchmarks'),
      page('Leaderboard', '/leaderboard'),
      page('Initial guesses', '/initial-guesses'),
    ],
  },
  {
    text: 'To change it',
    items: [
      page('Overview of the pages', '/overview'),
      page('Architecture', '/architecture'),
      page('Extending', '/extending'),
      page('Equations', '/equations'),
      page('Primitives', '/primitives'),
      page('Testing', '/testing'),
      page('The page and the site', '/site'),
      page('Package', '/package'),
      page('Repairs of tfjs', '/tfjs-repairs'),
      page('Changelog', '/changelog'),
    ],
  },
];

export default defineConfig({
  title: 'stiffgrad',
  description: 'Differentiable simulation of stiff systems for TensorFlow.js',
  base: process.env.STIFFGRAD_SITE_BASE ?? '/',
  head: [['link', {rel: 'icon', href: 'data:,'}]],
  srcDir: 'pages',
  cleanUrls: false,
  markdown: {
    // Code in docs is highlighted as what it is; oracles of the benchmarks name languages that the highlighter has not.
    languageAlias: {mermaid: 'text'},
  },
  // Search and 500 pages of reference make one large index, loaded when one searches.
  vite: {build: {chunkSizeWarningLimit: 4000}},
  themeConfig: {
    nav: [
      {text: 'Guide', link: '/getting-started'},
      {text: 'Gallery', link: '/gallery'},
      {text: 'Play', link: '/play'},
      {text: 'Notebooks', link: '/notebooks'},
      {text: 'Reference', link: '/api/'},
    ],
    sidebar: {'/api/': reference, '/': guide},
    search: {provider: 'local'},
    outline: {level: [2, 3]},
  },
});

/** The usual theme, with pictures that follow its light and dark, and frames that know the site's base. */
import {withBase} from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import {h, type FunctionalComponent} from 'vue';
import './style.css';

const PictureOf: FunctionalComponent<{src: string; alt: string}> = ({src, alt}) =>
  h('img', {src: withBase(src), alt, class: 'picture', loading: 'lazy'});
PictureOf.props = ['src', 'alt'];

const FrameOf: FunctionalComponent<{src: string; title: string; height: string}> = ({src, title, height}) =>
  h('iframe', {src: withBase(src), title, style: `height: ${height}px`, class: 'frame', loading: 'lazy'});
FrameOf.props = ['src', 'title', 'height'];

export default {
  extends: DefaultTheme,
  enhanceApp: ({app}: {app: {component(name: string, component: unknown): unknown}}) => {
    app.component('PictureOf', PictureOf);
    app.component('FrameOf', FrameOf);
  },
};

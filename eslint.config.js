/**
 * What the compiler does not see. Style is left to the hand; three things are rules: no type is given up, no
 * promise is forgotten, and imports run downwards through the layers (spec/package/layers.spec.ts checks lib's own).
 */
import tseslint from 'typescript-eslint';

const noNode = {
  regex: '^node:',
  message: 'It must run in a browser too: what only Node has is asked of lib/builtin.ts.',
};

export default tseslint.config(
  // The page and the site have packages and compilers' settings of their own: npm run check in docs/playground/.
  {ignores: ['dist/', 'reports/', '**/.*', 'docs/', 'cli/templates/']},
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {parserOptions: {project: './tsconfig.json', tsconfigRootDir: import.meta.dirname}},
    linterOptions: {reportUnusedDisableDirectives: 'error'},
    rules: {
      eqeqeq: ['error', 'always', {null: 'ignore'}],
      'no-var': 'error',
      'prefer-const': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        {argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none'},
      ],
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          // tfjs types it asynchronous; it is not where the backend's factory is not.
          allowForKnownSafeCalls: [{from: 'package', package: '@tensorflow/tfjs-core', name: 'setBackend'}],
        },
      ],
      // Messages show numbers and shapes as they are; values made of closures lose nothing when taken apart.
      '@typescript-eslint/restrict-template-expressions': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', {considerDefaultExhaustiveForUnions: true}],
    },
  },
  {
    files: ['lib/**', 'models/**', 'training/**', 'plot/**', 'fem/**', 'sweep/**'],
    rules: {
      'no-console': 'error',
    },
  },
  {
    // Comments and strings included: prettier breaks neither.
    files: ['lib/**', 'models/**', 'training/**', 'plot/**', 'fem/**', 'sweep/**', 'cli/**', 'examples/**'],
    rules: {
      'max-len': ['error', {code: 120, ignoreUrls: true}],
    },
  },
  {
    // Elements around values: what is not escaped there is markup by somebody else.
    files: ['lib/**', 'training/**', 'plot/**', 'fem/**', 'sweep/**', 'cli/**', 'examples/**', 'bench/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          ':not(TaggedTemplateExpression) > TemplateLiteral[expressions.length>0] > TemplateElement[value.raw=/<\\/?[a-z]\\w*[ >\\/]/]',
          "BinaryExpression[operator='+'] > Literal[value=/<\\/?[a-z]\\w*[ >\\/]/]",
        ].map(selector => ({
          selector,
          message: 'Elements with values in them are written with markup of lib/markup.ts.',
        })),
      ],
    },
  },
  {
    // chai asserts by properties; callbacks that must be asynchronous need not wait; a type said twice does no harm here.
    files: ['spec/**', 'bench/**'],
    rules: {
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
    },
  },
  // What must not compile has no types.
  {files: ['spec/types/**'], rules: {'@typescript-eslint/no-unsafe-argument': 'off'}},
  {files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked},
  {
    files: ['lib/**'],
    rules: {
      'no-restricted-globals': ['error', {name: 'process', message: 'A browser has none: read it from globalThis.'}],
      'no-restricted-imports': [
        'error',
        {patterns: [noNode, {regex: '/(models|training|spec|bench)/', message: 'Imports run downwards.'}]},
      ],
    },
  },
  {
    files: ['models/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            noNode,
            {regex: '/lib/(?!(index|internal|errors|checks)\\.js$)', message: "models knows lib's public API only."},
          ],
        },
      ],
    },
  },
  {
    files: ['training/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            noNode,
            {
              regex: '/lib/(?!(index|internal|errors|checks|markup|builtin|random|read|text)\\.js$)',
              message: "training knows lib's public API only.",
            },
          ],
        },
      ],
    },
  },
  {
    files: ['plot/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            noNode,
            {
              regex:
                '/(lib/(?!(index|internal|errors|checks|markup)\\.js$)|(models|training)/(?!(index|internal)\\.js$))',
              message: 'plot knows the public API of what it shows.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['fem/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            noNode,
            {
              regex: '/lib/(?!(index|internal|errors|checks|markup|builtin|random|read|text)\\.js$)|/training/',
              message: "fem knows lib's public API only.",
            },
          ],
        },
      ],
    },
  },
  {
    // For Node alone, and for processes that start in milliseconds: of lib only what loads no tfjs.
    files: ['sweep/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex:
                '/(lib/(?!(errors|checks|markup|random|text)\\.js$)|models/|plot/|training/(?!(index|internal)\\.js$))',
              message: 'sweep loads no tfjs.',
            },
          ],
        },
      ],
    },
  },
);

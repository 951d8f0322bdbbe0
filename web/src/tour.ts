/** The tour: states of the page, each with a title and two sentences. */
import { t } from "./messages.svelte";
import type { State } from "./state";

interface TourStep {
  title: string;
  words: string;
  state: Partial<State>;
}

export function steps(): TourStep[] {
  return [
    {
      title: t("Attention does not see order"),
      words: t("Without positions, attention gives the same weights however the words are shuffled: put back in order, nothing has changed. With positions, the shuffled sentence becomes another one."),
      state: { e: ["Sinusoidal(64)"], view: "attention" },
    },
    {
      title: t("Add a wave"),
      words: t("So each position is given a row of numbers that is added to its word: here each row is a position and each column a dimension. Move over a cell and read under “{title}” how it is calculated.", { title: t("The cell") }),
      state: { e: ["Sinusoidal(64)"], view: "heatmap" },
    },
    {
      title: t("Why sine and cosine"),
      words: t("A sine alone has the same value twice on its way up and down; with the cosine beside it the two say exactly how far the wave has turned. Follow the first two dimensions: when one is flat, the other is steep."),
      state: { e: ["Sinusoidal(4)"], view: "waves", n: 32, d: 1 },
    },
    {
      title: t("Why many wavelengths"),
      words: t("Short waves tell neighbours apart, long waves tell the beginning of a text from its end. Every pair of dimensions turns more slowly than the one before, down to one turn in tens of thousands of positions."),
      state: { e: ["Sinusoidal(64)"], view: "wavelengths", n: 64 },
    },
    {
      title: t("To shift is to rotate"),
      words: t("Going on by some positions turns every pair by an angle that does not depend on where one started. That is why the similarity of two positions depends on their distance alone: every diagonal has one colour."),
      state: { e: ["Sinusoidal(64)"], view: "similarity", n: 64 },
    },
    {
      title: t("Learned tables have a maximum length"),
      words: t("One can also let the model learn a row for each position, as BERT and GPT-2 do. Such a table starts as noise, knows nothing of distance, and has no row after its last."),
      state: { e: ["Learned(64, 64)"], view: "learned", n: 64 },
    },
    {
      title: t("A bias by distance"),
      words: t("Or nothing is added to the words, and each score is changed by how far query and key are apart. T5 learns one number for each range of distances and head."),
      state: { e: ["T5Bias(8)"], view: "bias", n: 64 },
    },
    {
      title: t("Rotate queries and keys instead"),
      words: t("RoPE turns each pair of a query and of a key by its position, so that their product knows only the distance. Press play and watch the fast hands and the slow ones."),
      state: { e: ["RoPE(64)"], view: "rotation" },
    },
    {
      title: t("Or let far words fade"),
      words: t("ALiBi learns nothing: each head lowers its scores along a straight line of its own. The line goes on at any distance, so that texts may be longer than in training; in the steep heads far words hardly count."),
      state: { e: ["ALiBi(8)"], view: "bias", n: 64 },
    },
    {
      title: t("Beyond the trained length"),
      words: t("In a text longer than those of its training RoPE meets angles that it never saw. Scalings such as YaRN stretch the slow waves until the new length fits, and leave the fast ones alone."),
      state: { e: ["RoPE(64, scaling=YaRN(4.0, 4096))"], view: "scalings", n: 8192 },
    },
    {
      title: t("Which one to choose"),
      words: t("Most new models use RoPE, with a scaling such as YaRN where texts get longer than in training; ALiBi, too, goes on at any length; sines or a learned table do for short inputs of a known length. Compare up to four side by side, and open the properties to see what was measured."),
      state: { e: ["Sinusoidal(64)", "RoPE(64)", "ALiBi(8)"], view: "attention" },
    },
  ];
}

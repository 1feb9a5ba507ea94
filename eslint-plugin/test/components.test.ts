/**
 * What components of an untyped framework keep between renders, in hooks and in the state of a
 * class. Each case is a script; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("components");

addScripts(test, {
  "a custom hook that gives what it keeps": `
import { useEffect, useState } from "react";
export function usePrediction(image) {
  const [prediction, setPrediction] = useState(null);
  useEffect(() => {
    if (!image) return;
    const p = tf.tidy(() => tf.softmax(tf.browser.fromPixels(image)));
    setPrediction(p); // ~ require-member-disposal
  }, [image]);
  return prediction;
}
export function useFrames(n) {
  const [frame, setFrame] = useState(null);
  const [last, setLast] = useState(null);
  useEffect(() => {
    setFrame(tf.zeros([n])); // ~ require-member-disposal
    setLast(tf.zeros([n]));
  }, [n, setFrame]);
  return [frame, last];
}
export function Shown({ n }) {
  const [frame, last] = useFrames(n);
  useEffect(() => () => last?.dispose(), [last]);
  return frame?.size;
}
export function useRecords(n) {
  const [data, setData] = useState(null);
  const [ended, setEnded] = useState(null);
  useEffect(() => {
    const xs = tf.randomUniform([n]);
    const ys = tf.randomUniform([n]);
    setData({ xs, ys }); // ~ require-member-disposal
    const mine = tf.randomUniform([n]);
    setEnded(mine);
    return () => mine.dispose();
  }, [n]);
  return { data, ended };
}`,
  "a model that a hook loads anew": `
import { useEffect, useState } from "react";
export function useModel(url) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    async function load() {
      const loaded = await tf.loadGraphModel(url);
      setModel(loaded); // ~ require-member-disposal
    }
    load();
  }, [url]);
  return model;
}
export function useOther(url) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadGraphModel(url).then(setModel); // ~ require-member-disposal
  }, [url]);
  return { model };
}
export function useThird({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadGraphModel(url).then((loaded) => { // ~ require-member-disposal
      setModel(loaded);
    });
  }, [url]);
  return { model };
}
export function useShown(url, isReady) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadGraphModel(url).then(setModel); // ~ require-member-disposal
  }, [url]);
  let shown = model;
  if (!isReady) shown = null;
  return { model: shown };
}
export function useEndedByName(url) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadGraphModel(url).then(setModel);
  }, [url]);
  const mine = model;
  useEffect(() => () => mine?.dispose(), [mine]);
  return model;
}
export function useOnce() {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadGraphModel("model.json").then(setModel);
  }, []);
  return model;
}
export function useEnded(url) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    let loaded;
    (async () => {
      loaded = await tf.loadGraphModel(url);
      setModel(loaded);
    })();
    return () => loaded?.dispose();
  }, [url]);
  return model;
}
export function useReplaced(url) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadGraphModel(url).then((next) => setModel((old) => { old?.dispose(); return next; }));
  }, [url]);
  useEffect(() => () => model?.dispose(), [model]);
  return model;
}`,
  "the state of a class component": `
import React from "react";
export class Kept extends React.Component {
  state = { image: null };
  load(el) {
    this.setState({ image: tf.browser.fromPixels(el), name: el.id }); // ~ require-member-disposal
  }
  next(el) {
    this.setState((last) => ({ image: tf.browser.fromPixels(el) })); // ~ require-member-disposal
  }
  render() { return this.state.image ? this.state.image.shape : null; }
}
export class Ended extends React.Component {
  state = { image: null };
  load(el) {
    if (this.state.image) this.state.image.dispose();
    this.setState({ image: tf.browser.fromPixels(el) });
  }
  componentWillUnmount() { this.state.image?.dispose(); }
  render() { return this.state.image ? this.state.image.shape : null; }
}
export class Shown extends React.Component {
  load(el) { this.setState({ image: tf.browser.fromPixels(el) }); }
  render() { const { image } = this.state; return this.props.draw(image); }
}
export class Whole extends React.Component {
  load(el) { this.setState({ image: tf.browser.fromPixels(el) }); }
  componentWillUnmount() { tf.dispose(this.state); }
}
export class ByName extends React.Component {
  load(el) { this.setState({ image: tf.browser.fromPixels(el) }, () => this.free("image")); }
  free(name) { this.state[name].dispose(); }
}
export class Short extends React.Component {
  async load(el) {
    const image = tf.browser.fromPixels(el);
    this.setState({ image });
    await image.data();
    image.dispose();
    this.setState({ image: null });
  }
}
export class Later extends React.Component {
  componentDidMount() {
    const self = this;
    tf.browser.toPixels(this.input).then((pixels) => this.setState({ pixels }));
    loadImage(this.input).then((image) => { // ~ require-member-disposal
      this.setState({ image });
    });
    loadImage(this.input).then(function (other) { // ~ require-member-disposal
      self.setState({ other });
    });
    loadImage(this.input).then((ended) => {
      this.setState({ ended });
      this.onEnd = () => ended.dispose();
    });
  }
  render() { return this.state.image ? this.state.image.shape : this.state.other.shape; }
}
async function loadImage(el) {
  await el.decode();
  return tf.browser.fromPixels(el);
}
export function Boxed({ values }) {
  const [box, setBox] = React.useState(null);
  React.useEffect(() => {
    const t = tf.tensor1d(values);
    setBox({ t, at: Date.now() });
    return () => t.dispose();
  }, [values]);
  return box ? String(box.t.size) : null;
}`,
  "functions that a component remembers": `
import { useCallback, useRef, useEffect } from "react";
export function useCapture(videoRef) {
  const last = useRef(null);
  const capture = useCallback(() => {
    last.current = tf.browser.fromPixels(videoRef.current); // ~ no-overwritten-tensor
    return last.current.shape;
  }, [videoRef]);
  useEffect(() => () => last.current?.dispose(), []);
  return capture;
}
export function useEnded(videoRef) {
  const last = useRef(null);
  const capture = useCallback(() => {
    last.current?.dispose();
    last.current = tf.browser.fromPixels(videoRef.current);
    return last.current.shape;
  }, [videoRef]);
  useEffect(() => () => last.current?.dispose(), []);
  return capture;
}
export function useOnce(videoRef) {
  const last = useRef(null);
  const capture = useCallback(() => {
    if (!last.current) last.current = tf.browser.fromPixels(videoRef.current);
    return last.current.shape;
  }, [videoRef]);
  useEffect(() => () => last.current?.dispose(), []);
  return capture;
}
export function useCleared(videoRef) {
  const last = useRef(null);
  const clear = useCallback(() => { last.current?.dispose(); last.current = null; }, []);
  const capture = useCallback(() => {
    clear();
    last.current = tf.browser.fromPixels(videoRef.current);
    return last.current.shape;
  }, [videoRef]);
  useEffect(() => clear, [clear]);
  return capture;
}
export function useModel() {
  const model = useRef(null);
  const loadModel = useCallback(async () => { model.current = await tf.loadLayersModel("x"); }, []);
  useEffect(() => { loadModel(); return () => model.current?.dispose(); }, [loadModel]);
  return model;
}
export function useNet(url) {
  const net = useRef(null);
  const refresh = useCallback(async () => { net.current = await tf.loadLayersModel(url); }, [url]);
  useEffect(() => {
    refresh();
    return () => { net.current?.dispose(); net.current = null; };
  }, [refresh]);
  return net;
}
export function useFreed(video) {
  const free = useCallback((t) => { t.dispose(); }, []);
  const grab = useCallback(() => {
    const t = tf.browser.fromPixels(video);
    const n = t.size;
    free(t);
    return n;
  }, [video, free]);
  const look = useCallback((t) => t.size, []);
  const leak = useCallback(() => {
    const t = tf.browser.fromPixels(video); // ~ require-disposal
    return look(t);
  }, [video, look]);
  return { grab, leak };
}`,
  "models in a state of no known type": `
import { useState, useEffect } from "react";
import * as tf from "@tensorflow/tfjs";
import { Net } from "./net";
export function Panel0({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then(setModel); // ~ require-member-disposal
  }, [url]);
  return model ? <p>{model.name}</p> : null;
}
export function Panel1({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then((m) => setModel(m)); // ~ require-member-disposal
  }, [url]);
  return model ? <p>{model.name}</p> : null;
}
export function Panel2({ url, x }) {
  const [model, setModel] = useState(null);
  const [out, setOut] = useState("");
  useEffect(() => {
    tf.loadLayersModel(url).then((m) => { setModel(m); }); // ~ require-member-disposal
  }, [url]);
  const run = async () => {
    const input = tf.tensor(x);
    const p = model.predict(input);
    setOut(String(await p.data()));
    tf.dispose([input, p]);
  };
  return <button onClick={run}>{out}</button>;
}
export function Panel3({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then(setModel);
  }, [url]);
  return <Net model={model} />;
}
export function Panel4({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then(setModel);
  }, [url]);
  useEffect(() => () => { if (model) model.dispose(); }, [model]);
  return model ? <p>{model.name}</p> : null;
}
export function Panel5({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then(setModel);
  }, [url]);
  useEffect(() => () => model && model.dispose(), [model]);
  return model && <p>{model.name}</p>;
}
export function Panel6({ url }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then(setModel);
  }, [url]);
  useEffect(() => () => tf.dispose(model), [model]);
  return model && <p>{model.name}</p>;
}
export function Panel7() {
  const [model, setModel] = useState(null);
  useEffect(() => { tf.loadLayersModel("m.json").then(setModel); }, []);
  return model && <p>{model.name}</p>;
}
export function Panel8({ url, children }) {
  const [model, setModel] = useState(null);
  useEffect(() => {
    tf.loadLayersModel(url).then(setModel);
  }, [url]);
  return <Ctx.Provider value={{ model, url }}>{children}</Ctx.Provider>;
}`,
  "a ref whose value has another name in an effect": `
import { useEffect, useRef } from "react";
export function useMask(n) {
  const mask = useRef(null);
  useEffect(() => {
    mask.current = tf.zeros([n]); // ~ require-member-disposal
  }, []);
  useEffect(() => {
    const shown = mask.current;
    if (!shown) return;
    console.log(shown.shape);
  }, [n]);
}
export function useEnded(n) {
  const mask = useRef(null);
  useEffect(() => {
    mask.current = tf.zeros([n]);
  }, []);
  useEffect(() => {
    const shown = mask.current;
    return () => shown && shown.dispose();
  }, [n]);
}`,
});

test.run();

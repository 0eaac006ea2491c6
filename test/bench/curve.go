// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strconv"
)

// point of a curve.
type point struct{ x, y float64 }

// series is one curve of a panel.
type series struct {
	name   string
	points []point
	dashed bool // what it is compared with
}

// panel is one picture: its curves share the axes.
type panel struct {
	title  string
	curves []series
}

// The measures of a panel and its plot, in pixels.
const (
	columns                 = 2
	panelWidth, panelHeight = 460, 280
	marginLeft, marginRight = 64, 16
	marginTop, marginBottom = 34, 66
	heading                 = 40
	plotWidth               = panelWidth - marginLeft - marginRight
	plotHeight              = panelHeight - marginTop - marginBottom
)

// colours can be told apart by those who do not see all of them, on white.
var colours = []string{"#0b62a4", "#c4501b", "#3d7a3d", "#7a4b8f"}

// draw makes one picture of the panels, as SVG. The axis of what is changed is
// logarithmic where logX says so; the other one begins at 0 and is not.
func draw(title, label string, logX bool, panels []panel) []byte {
	rows := (len(panels) + columns - 1) / columns
	width, height := columns*panelWidth, heading+rows*panelHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="16" y="26" font-size="17" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
	for i := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*panelWidth, heading+i/columns*panelHeight)
		panels[i].draw(&b, label, logX)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// scale maps values to pixels of the plot.
type scale struct {
	low, high float64
	log       bool
}

func (s scale) share(v float64) float64 {
	if s.high == s.low {
		return 0.5
	}
	if s.log {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

func (p *panel) draw(b *bytes.Buffer, label string, logX bool) {
	x, top := scale{math.Inf(1), math.Inf(-1), logX}, 0.0
	marks := map[float64]bool{}
	for _, c := range p.curves {
		for _, pt := range c.points {
			x.low, x.high, top = min(x.low, pt.x), max(x.high, pt.x), max(top, pt.y)
			marks[pt.x] = true
		}
	}
	step := nice(top / 4)
	y := scale{0, step * math.Max(1, math.Ceil(top/step)), false}
	at := func(pt point) (float64, float64) {
		return marginLeft + x.share(pt.x)*plotWidth, marginTop + (1-y.share(pt.y))*plotHeight
	}
	fmt.Fprintf(b, `<text x="%d" y="20" font-size="13" font-weight="bold">%s</text>`+"\n", marginLeft, html.EscapeString(p.title))
	for v := 0.0; v <= y.high*1.001; v += step {
		_, py := at(point{x.low, v})
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#333333">%s</text>`+"\n",
			marginLeft, py, marginLeft+plotWidth, py, marginLeft-6, py+4, number(v))
	}
	for _, v := range slices.Sorted(maps.Keys(marks)) {
		px, _ := at(point{v, 0})
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#888888"/><text x="%.1f" y="%d" text-anchor="middle" fill="#333333">%s</text>`+"\n",
			px, marginTop+plotHeight, px, marginTop+plotHeight+4, px, marginTop+plotHeight+17, number(v))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" fill="#333333">%s</text>`+"\n", marginLeft+plotWidth/2, marginTop+plotHeight+33, html.EscapeString(label))
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#333333"/>`+"\n", marginLeft, marginTop, marginTop+plotHeight, marginLeft+plotWidth)
	legend := marginLeft
	for i, c := range p.curves {
		c.draw(b, colours[i%len(colours)], at)
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d" fill="#111111">%s</text>`+"\n",
			legend, panelHeight-14, legend+22, panelHeight-14, colours[i%len(colours)], c.dash(), legend+27, panelHeight-10, html.EscapeString(c.name))
		legend += 42 + 7*len(c.name)
	}
}

func (c *series) dash() string {
	if c.dashed {
		return ` stroke-dasharray="5 4"`
	}
	return ""
}

func (c *series) draw(b *bytes.Buffer, colour string, at func(point) (float64, float64)) {
	b.WriteString(`<polyline fill="none" stroke-width="2" stroke="` + colour + `"` + c.dash() + ` points="`)
	for _, pt := range c.points {
		px, py := at(pt)
		fmt.Fprintf(b, "%.1f,%.1f ", px, py)
	}
	b.WriteString("\"/>\n")
	for _, pt := range c.points {
		px, py := at(pt)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %s at %s</title></circle>`+"\n", px, py, colour, html.EscapeString(c.name), number(pt.y), number(pt.x))
	}
}

// nice is the least of 1, 2, 5, 10 … that is not less.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*ten >= v {
			return f * ten
		}
	}
	return 10 * ten
}

// number is short: 12, 0.5, 10k.
func number(v float64) string {
	if v >= 10000 {
		return strconv.FormatFloat(v/1000, 'f', -1, 64) + "k"
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type eventsOptions struct {
	*session
	output
	follow bool
}

func eventsCommand(s *session) *cobra.Command {
	o := &eventsOptions{session: s}
	cmd := &cobra.Command{
		Use:   "events KIND/NAME | crp/NAME [-f]",
		Short: "Show the decisions about a template, in order, with the reasons",
		Long: `Show the decisions about a template or a placement, the oldest first: the
Kubernetes events about it, its binding and its Works, and the last transition
of each of their conditions. Events are shown for as long as the hub keeps them
(an hour by default), conditions for as long as they last.`,
		Example: examples(`
			kubectl sluice events deployment/nginx -n shop

			# Also new decisions, until Ctrl-C
			kubectl sluice events deployment/nginx -n shop -f

			# Of a placement, for programs
			kubectl sluice events crp/shop -o json`),
		Args:              oneArg("KIND/NAME"),
		ValidArgsFunction: s.completeObjects(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := s.objects(args)
			if err != nil {
				return err
			}
			if o.follow && o.forMachines() {
				return usagef("-f writes lines for people: leave out -o")
			}
			return o.run(cmd.Context(), keys[0])
		},
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "after that, print new decisions until Ctrl-C")
	o.addTo(cmd, formatJSON, formatYAML)
	return cmd
}

// decision is one line: an event, or the last transition of a condition.
type decision struct {
	Time time.Time `json:"time"`
	// About is the object that it is about: template, binding, or a cluster's Work.
	About   string `json:"about"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Condition and Status are set for a condition; empty for an event.
	Condition string                 `json:"condition,omitempty"`
	Status    metav1.ConditionStatus `json:"status,omitempty"`
	Warning   bool                   `json:"warning,omitempty"`
	// Count is how often an event was recorded, the last time at Time.
	Count int32 `json:"count,omitempty"`
}

// source is an object whose events and conditions are shown.
type source struct {
	about                 string
	kind, namespace, name string
	conditions            []metav1.Condition
}

func (o *eventsOptions) run(ctx context.Context, key propagation.TemplateKey) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if o.follow {
		return o.goOn(ctx, h, key)
	}
	all, err := o.decisions(ctx, h, key)
	if err != nil {
		return err
	}
	switch {
	case o.forMachines():
		return o.screen.Encode(o.format, map[string]any{"items": all})
	case len(all) == 0:
		o.screen.Note("Nothing was decided about %s yet, or it is forgotten: '%s explain %s%s' says how it is.", refOf(key), name, refOf(key), inNamespace(key.Namespace))
		return nil
	}
	o.screen.Table("", decisionColumns, decisionRows(all), false)
	return nil
}

var decisionColumns = screen.Columns("TIME", "ABOUT", "WHAT", "REASON", "MESSAGE")

// decisions returns all known decisions, the oldest first.
func (o *eventsOptions) decisions(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) ([]decision, error) {
	sources, err := sourcesOf(ctx, h, key)
	if err != nil {
		return nil, err
	}
	var all []decision
	for _, s := range sources {
		told, err := o.told(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(append(all, told...), s.became()...)
	}
	slices.SortStableFunc(all, func(a, b decision) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// sourcesOf returns the template, its binding and its Works, or the placement with its
// bindings and Works.
func sourcesOf(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) ([]source, error) {
	if _, ok := hub.PlacementKeyOf(key); ok {
		p, err := h.Placement(ctx, key.Name)
		if err != nil {
			return nil, notFound(key, err)
		}
		out := []source{{about: "placement", kind: key.Kind, name: key.Name, conditions: p.Status.Conditions}}
		for _, m := range p.Status.PlacementStatuses {
			out = append(out, source{about: cmp.Or(m.ClusterName, "no cluster"), conditions: m.Conditions})
		}
		return out, nil
	}
	out := []source{{about: "template", kind: key.Kind, namespace: key.Namespace, name: key.Name}}
	b, err := h.Binding(ctx, propagation.BindingOf(key))
	if errors.Is(err, outcome.ErrGone) || err == nil && !b.IsOf(key) {
		_, err := h.Template(ctx, key)
		return out, notFound(key, err)
	}
	if err != nil {
		return nil, installed(err)
	}
	out = append(out, source{"binding", bindingKind(b.Key.Scope()).Kind, b.Key.Namespace, b.Key.Name, b.Status.Conditions})
	works, err := h.WorksOf(ctx, b.Key)
	if err != nil {
		return nil, installed(err)
	}
	for _, w := range works {
		out = append(out, source{"work on " + w.Key.Cluster, "Work", w.Key.Namespace(), w.Key.Name, w.Status.Conditions})
	}
	return out, nil
}

// told returns the events about the object. Those about a cluster-scoped object are in
// the namespace default.
func (o *eventsOptions) told(ctx context.Context, s source) ([]decision, error) {
	if s.name == "" {
		return nil, nil
	}
	kube, err := o.kube()
	if err != nil {
		return nil, err
	}
	list, err := kube.CoreV1().Events(cmp.Or(s.namespace, metav1.NamespaceDefault)).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.name", s.name).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	var out []decision
	for _, e := range list.Items {
		if e.InvolvedObject.Kind != s.kind {
			continue
		}
		out = append(out, decision{
			Time: timeOf(&e), About: s.about, Reason: e.Reason, Message: e.Message, Warning: e.Type == corev1.EventTypeWarning, Count: e.Count,
		})
	}
	return out, nil
}

// timeOf returns when an event was last recorded.
func timeOf(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// became returns the last transitions of the object's conditions.
func (s source) became() []decision {
	var out []decision
	for _, c := range s.conditions {
		out = append(out, decision{
			Time: c.LastTransitionTime.Time, About: s.about, Reason: c.Reason, Message: c.Message, Condition: c.Type, Status: c.Status,
		})
	}
	return out
}

func decisionRows(all []decision) [][]screen.Cell {
	rows := make([][]screen.Cell, 0, len(all))
	for _, d := range all {
		what := screen.Cell{Text: "event"}
		switch {
		case d.Condition != "":
			what.Text = d.Condition + " is " + string(d.Status)
		case d.Count > 1:
			what.Text = fmt.Sprintf("event, x%d", d.Count)
		}
		if d.Warning {
			what.Paint = screen.Warn
		}
		at := "" // a condition without a time
		if !d.Time.IsZero() {
			at = d.Time.Local().Format(time.DateTime)
		}
		rows = append(rows, []screen.Cell{screen.Text(at), screen.Text(d.About), what, screen.Text(d.Reason), screen.Text(d.Message)})
	}
	return rows
}

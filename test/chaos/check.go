// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// recovery is how long it may take until all is as it has to be.
	recovery = 5 * time.Minute
	// silence is how long nobody may write then: several sweeps, and a policy's counts.
	silence = 12 * time.Second
)

// check waits until all is as the model says and nobody writes, and looks at what was
// removed.
func (w *world) check(ctx context.Context, m *model) error {
	began := time.Now()
	if err := await(ctx, recovery, func() error { return w.settled(ctx, m) }); err != nil {
		return fmt.Errorf("the state: %w", err)
	}
	say("every template is where its policy says, and reported, after %.1fs", time.Since(began).Seconds())
	err := await(ctx, time.Minute, func() error { return w.quiet(ctx) })
	if err != nil {
		return fmt.Errorf("silence: %w", err)
	}
	say("nobody wrote anything for %v", silence)
	if err := w.settled(ctx, m); err != nil {
		return fmt.Errorf("the state, later: %w", err)
	}
	removals, n := map[place][]time.Time{}, 0
	for _, name := range w.names() {
		lines, err := w.log(name, 0)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if p, ok := l.removal(name); ok {
				removals[p], n = append(removals[p], l.RequestReceivedTimestamp.Time), n+1
			}
		}
	}
	if all := m.unasked(removals); len(all) > 0 {
		return fmt.Errorf("%d of %d removals had no cause:\n%s", len(all), n, strings.Join(all, "\n"))
	}
	say("each of %d removals in members had its cause", n)
	return nil
}

// settled is nil if everything is as the model says.
func (w *world) settled(ctx context.Context, m *model) error {
	var wrong []string
	for i := range spaces {
		namespace := fmt.Sprintf("chaos-%d", i)
		for _, kind := range []string{"ConfigMap", "Deployment"} {
			some, err := w.compare(ctx, m, namespace, kind)
			if err != nil {
				return err
			}
			wrong = append(wrong, some...)
		}
		some, err := w.reported(ctx, m, namespace)
		if err != nil {
			return err
		}
		wrong = append(wrong, some...)
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%d differences:\n%s", len(wrong), strings.Join(wrong[:min(len(wrong), 20)], "\n"))
}

// compare tells what differs of a kind in a namespace, on the hub and in the members.
func (w *world) compare(ctx context.Context, m *model, namespace, kind string) ([]string, error) {
	var wrong []string
	for name := range w.clusters {
		list, err := w.at(name, template{kind: kind}.resource(), namespace).List(ctx, metav1.ListOptions{LabelSelector: "chaos"})
		if err != nil {
			return nil, fmt.Errorf("list %ss of %s in %s: %w", kind, namespace, name, err)
		}
		here := name == "hub" || slices.Contains(m.places[namespace], name)
		found := map[string]bool{}
		for i := range list.Items {
			t := template{kind, namespace, list.Items[i].GetName()}
			found[t.name] = true
			version, lives := m.living[t]
			switch {
			case !lives || !here:
				wrong = append(wrong, fmt.Sprintf("%v is in %s", t, name))
			case t.says(&list.Items[i]) != fmt.Sprintf("v%d", version):
				wrong = append(wrong, fmt.Sprintf("%v in %s says %s, not v%d", t, name, t.says(&list.Items[i]), version))
			}
		}
		for _, t := range m.list() {
			if here && t.kind == kind && t.namespace == namespace && !found[t.name] {
				wrong = append(wrong, fmt.Sprintf("%v is not in %s", t, name))
			}
		}
	}
	return wrong, nil
}

// reported tells which templates of a namespace have no binding that says that all is
// applied, and which bindings have no template.
func (w *world) reported(ctx context.Context, m *model, namespace string) ([]string, error) {
	list, err := w.at("hub", bindings, namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list bindings of %s: %w", namespace, err)
	}
	have := map[template]*unstructured.Unstructured{}
	var wrong []string
	for i := range list.Items {
		of, _, _ := unstructured.NestedMap(list.Items[i].Object, "spec", "resource")
		kind, _ := of["kind"].(string)
		name, _ := of["name"].(string)
		t := template{kind, namespace, name}
		have[t] = &list.Items[i]
		if _, lives := m.living[t]; !lives {
			wrong = append(wrong, fmt.Sprintf("%v is gone, and its binding is there", t))
		}
	}
	for _, t := range m.list() {
		if t.namespace != namespace {
			continue
		}
		b := have[t]
		if b == nil {
			wrong = append(wrong, fmt.Sprintf("%v has no binding", t))
			continue
		}
		status, _, _ := unstructured.NestedSlice(b.Object, "status", "aggregatedStatus")
		if !applied(b) || len(status) != len(m.places[namespace]) {
			wrong = append(wrong, fmt.Sprintf("%v: its binding reports of %d members, fully applied: %v", t, len(status), applied(b)))
		}
	}
	return wrong, nil
}

func applied(b *unstructured.Unstructured) bool {
	all, _, _ := unstructured.NestedSlice(b.Object, "status", "conditions")
	return slices.ContainsFunc(all, func(c any) bool {
		is, _ := c.(map[string]any)
		return is["type"] == "FullyApplied" && is["status"] == "True"
	})
}

// line is what an audit log says of a request.
type line struct {
	Stage, Verb, UserAgent   string
	RequestReceivedTimestamp metav1.MicroTime
	ObjectRef                struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus           struct{ Code int }
}

// ours tells whether it is an end of a request of the pipeline.
func (l *line) ours() bool {
	return l.Stage == "ResponseComplete" && (l.UserAgent == "sluice" || strings.HasPrefix(l.UserAgent, "sluice/"))
}

// removal is what the pipeline removed from a member.
func (l *line) removal(member string) (place, bool) {
	kind := map[string]string{"configmaps": "ConfigMap", "deployments": "Deployment"}[l.ObjectRef.Resource]
	done := l.ours() && l.Verb == "delete" && l.ResponseStatus.Code/100 == 2 && kind != "" && strings.HasPrefix(l.ObjectRef.Namespace, "chaos-")
	return place{template{kind, l.ObjectRef.Namespace, l.ObjectRef.Name}, member}, done
}

// writes tells whether something was changed, but for Kubernetes Events.
func (l *line) writes() bool {
	return l.ours() && slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, l.Verb) && l.ObjectRef.Resource != "events"
}

// log is what a cluster's audit log says from an offset on.
func (w *world) log(cluster string, from int64) ([]line, error) {
	f, err := os.Open(filepath.Join(w.dir, "lab", cluster, "audit.log"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	var all []line
	for in := bufio.NewReaderSize(f, 1<<20); ; {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var l line
		if json.Unmarshal(raw, &l) == nil { // one that a kill has cut off is none
			all = append(all, l)
		}
	}
}

// quiet is nil if nobody writes for a while.
func (w *world) quiet(ctx context.Context) error {
	from := map[string]int64{}
	for name := range w.clusters {
		info, err := os.Stat(filepath.Join(w.dir, "lab", name, "audit.log"))
		if err != nil {
			return err
		}
		from[name] = info.Size()
	}
	if err := pause(ctx, silence); err != nil {
		return err
	}
	var wrote []string
	for name := range w.clusters {
		lines, err := w.log(name, from[name])
		if err != nil {
			return err
		}
		for i := range lines {
			if l := &lines[i]; l.writes() {
				wrote = append(wrote, fmt.Sprintf("%s: %s %s/%s %s/%s", name, l.Verb, l.ObjectRef.Resource, l.ObjectRef.Subresource, l.ObjectRef.Namespace, l.ObjectRef.Name))
			}
		}
	}
	if len(wrote) > 0 {
		return fmt.Errorf("%d writes when nothing happened:\n%s", len(wrote), strings.Join(wrote[:min(len(wrote), 20)], "\n"))
	}
	return nil
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// open suspends nothing.
type open struct{}

func (open) Check(context.Context, propagation.TemplateKey, propagation.BindingKey, string, uint64) (suspension.Verdict, error) {
	return suspension.Verdict{}, nil
}

// bringing is one Work of a Secret, what is kept beside it, and its member.
type bringing struct {
	t      *testing.T
	hub    *pipelinetest.Hub
	member *pipelinetest.Member
	stage  *applier.Stage
	key    propagation.TemplateKey
	work   propagation.WorkKey
	hash   string
	whole  []byte
}

func secretBrought(t *testing.T) *bringing {
	t.Helper()
	now := func() time.Time { return fixture.Start }
	b := &bringing{t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: now}), member: pipelinetest.NewMember("m1"), key: propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "token"}}
	b.work = propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(propagation.BindingOf(b.key))}
	if err := b.member.EnsureNamespace(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.hub.EnsureNamespace(t.Context(), b.work.Namespace()); err != nil {
		t.Fatal(err)
	}
	b.stage = applier.New(b.hub, open{}, func(context.Context, string) (applier.Member, error) { return b.member, nil }, now)
	b.carry("hunter2")
	return b
}

// carry makes the Work of a Secret with that content.
func (b *bringing) carry(content string) {
	b.t.Helper()
	sealed, hash, whole, err := propagation.Seal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "token"}, "data": map[string]any{"k": content},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	raw, err := json.Marshal(sealed)
	if err != nil {
		b.t.Fatal(err)
	}
	template, err := json.Marshal(b.key)
	if err != nil {
		b.t.Fatal(err)
	}
	binding := propagation.BindingOf(b.key)
	next := &propagation.Work{Key: b.work, Annotations: map[string]string{
		propagation.AnnotationTemplate: string(template), propagation.AnnotationBindingNamespace: binding.Namespace, propagation.AnnotationBindingName: binding.Name,
	}}
	next.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
	if _, err := b.hub.CommitWork(b.t.Context(), b.hub.LiveWork(b.work), next); err != nil {
		b.t.Fatal(err)
	}
	b.hash, b.whole = hash, whole
}

func (b *bringing) keep(contents propagation.Contents) {
	b.t.Helper()
	b.hub.RemoveContents(b.work)
	if err := b.hub.CommitContents(b.t.Context(), b.hub.LiveWork(b.work), nil, contents); err != nil {
		b.t.Fatal(err)
	}
}

// apply has the Work applied, and returns what follows: types and reasons.
func (b *bringing) apply(reason string) (followed []string) {
	b.t.Helper()
	binding := propagation.BindingOf(b.key)
	e, err := events.New("test", event.New(), events.WorkRendered, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1", Reason: reason})
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := b.stage.Handle(b.t.Context(), e)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range out {
		msg, err := events.Decode(o)
		if err != nil {
			b.t.Fatal(err)
		}
		followed = append(followed, o.Type()+" "+msg.Reason)
	}
	return followed
}

// has is the content of the member's Secret.
func (b *bringing) has() any {
	o := b.member.Objects()
	i := slices.IndexFunc(o, func(o *pipelinetest.Object) bool { return o.Ref == member.Ref(b.key) })
	if i < 0 {
		return nil
	}
	if _, sealed := o[i].Content["metadata"].(map[string]any)["annotations"]; sealed {
		b.t.Errorf("the member has annotations of the Work's: %v", o[i].Content)
	}
	data, _ := o[i].Content["data"].(map[string]any)
	return data["k"]
}

const (
	applied  = events.WorkApplied + " AppliedSuccessful"
	missing  = events.WorkFailed + " ContentMissing"
	restored = events.BindingScheduled + " ContentMissing"
)

func TestZ39TheMemberGetsWhatIsKeptBesideTheWork(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	if d := cmp.Diff([]string{applied}, b.apply("")); d != "" || b.has() != "hunter2" {
		t.Errorf("the member has %v (-want +got)\n%s", b.has(), d)
	}
	var writes []pipelinetest.MemberWrite
	b.member.Wrote = func(_ context.Context, w pipelinetest.MemberWrite) { writes = append(writes, w) }
	b.apply("")
	if len(writes) > 0 {
		t.Errorf("the second time there are writes: %v", writes)
	}
}

func TestZ39WithoutTheContentTheMemberKeepsWhatItHas(t *testing.T) {
	for sentence, spoil := range map[string]func(b *bringing){
		"somebody deleted what was kept":    func(b *bringing) { b.hub.RemoveContents(b.work) },
		"somebody changed it":               func(b *bringing) { b.keep(propagation.Contents{b.hash: []byte(`{"apiVersion":"v1","kind":"Secret"}`)}) },
		"the Work says more than was kept":  func(b *bringing) { b.carry("hunter3") },
		"what was kept is for another hash": func(b *bringing) { b.keep(propagation.Contents{"0": b.whole}) },
	} {
		t.Run(sentence, func(t *testing.T) {
			b := secretBrought(t)
			b.keep(propagation.Contents{b.hash: b.whole})
			b.apply("")
			spoil(b)
			if d := cmp.Diff([]string{missing, restored}, b.apply("")); d != "" || b.has() != "hunter2" {
				t.Errorf("the member has %v; told (-want +got)\n%s", b.has(), d)
			}
			if d := cmp.Diff([]string{missing}, b.apply("")); d != "" {
				t.Errorf("told a second time, so that they never end (-want +got)\n%s", d)
			}
			if d := cmp.Diff([]string{missing, restored}, b.apply(events.ReasonUnfinished)); d != "" {
				t.Errorf("when the sweeper asks (-want +got)\n%s", d)
			}
			b.keep(propagation.Contents{b.hash: b.whole})
			if d := cmp.Diff([]string{applied}, b.apply("")); d != "" {
				t.Errorf("when it is back (-want +got)\n%s", d)
			}
		})
	}
}

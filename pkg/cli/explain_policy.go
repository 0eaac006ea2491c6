// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// explainPolicy shows the state of each template of a policy.
func (o *explainOptions) explainPolicy(ctx context.Context, h *hub.Hub, key propagation.PolicyKey) error {
	w, err := world(ctx, h)
	if err != nil {
		return err
	}
	p, err := h.Policy(ctx, key)
	if err != nil {
		return noPolicy(key, err)
	}
	subjects, dark, err := subjects(ctx, h, concerning(p))
	if err != nil {
		return err
	}
	r := w.ExplainPolicy(p, subjects)
	r.Untold = dark
	if o.forMachines() {
		return o.screen.Encode(o.format, r)
	}
	o.showPolicy(r)
	return nil
}

// noPolicy says how to list policies if that is the one that does not exist.
func noPolicy(key propagation.PolicyKey, err error) error {
	if errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("%s not found: 'kubectl get %s%s' lists them", policyRef(key), shortNames[key.Scope], inNamespace(key.Namespace))
	}
	return err
}

func (o *explainOptions) showPolicy(r explaining.PolicyReport) {
	s := o.screen
	s.Println(s.Paint(screen.Bold, r.Policy.String()))
	traits := []string{fmt.Sprintf("generation %d", r.Generation), fmt.Sprintf("priority %d", r.Priority)}
	if r.Lazy {
		traits = append(traits, "lazy")
	}
	if r.Preempts {
		traits = append(traits, "preempts")
	}
	if r.Suspended != "none" {
		traits = append(traits, "suspends "+r.Suspended)
	}
	s.Println("  " + strings.Join(traits, ", "))
	if r.NotServed != "" {
		s.Println("  " + s.Paint(screen.Bad, reporting.ReasonKindNotServed) + ": " + r.NotServed)
	}
	if r.NoNamespace != "" {
		s.Println("  " + s.Paint(screen.Bad, reporting.ReasonKindHasNoNamespace) + ": " + r.NoNamespace)
	}
	if r.NotGranted != "" {
		s.Println("  " + s.Paint(screen.Bad, reporting.ReasonKindNotGranted) + ": " + r.NotGranted)
	}
	if r.Ignored != "" {
		s.Println("  " + s.Paint(screen.Warn, reporting.ConditionFieldsIgnored) + ": " + r.Ignored)
	}
	for _, what := range r.Untold {
		s.Println("  " + s.Paint(screen.Warn, what))
	}
	switch {
	case len(r.Templates) == 0 && len(r.Untold) > 0:
		return
	case len(r.Templates) == 0:
		s.Println("  holds no template, and none that another policy holds is selected by it")
		return
	}
	var counts []string
	for _, state := range explaining.TemplateStates {
		if n := r.Counts[state]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, templateStateWords[state]))
		}
	}
	s.Printf("  %s: %s\n\n", noun(len(r.Templates), "template", "templates"), strings.Join(counts, ", "))
	rows := make([][]screen.Cell, 0, len(r.Templates))
	for _, t := range r.Templates {
		state := screen.Cell{Text: templateStateWords[t.State], Paint: templateStatePaints[t.State]}
		if t.HeldBy != nil {
			state.Text = "held by " + policyRef(*t.HeldBy)
		}
		rows = append(rows, []screen.Cell{screen.Text(t.Template.Namespace), screen.Text(refOf(t.Template)), state, screen.Text(t.Message)})
	}
	s.Table("  ", screen.Columns("NAMESPACE", "TEMPLATE", "STATE", "WHY"), rows, false)
}

var templateStateWords = map[explaining.TemplateState]string{
	explaining.TemplateActive: "active", explaining.TemplatePending: "pending", explaining.TemplateSuspended: "suspended",
	explaining.TemplateFailed: "failed", explaining.TemplateHeldByOther: "held by another",
}

var templateStatePaints = map[explaining.TemplateState]screen.Paint{
	explaining.TemplateActive: screen.Good, explaining.TemplatePending: screen.Warn, explaining.TemplateSuspended: screen.Warn,
	explaining.TemplateFailed: screen.Bad, explaining.TemplateHeldByOther: screen.Dim,
}

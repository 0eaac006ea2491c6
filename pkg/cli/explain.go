// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type explainOptions struct {
	*session
	output
}

func explainCommand(s *session) *cobra.Command {
	o := &explainOptions{session: s}
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME | pp/NAME | cpp/NAME | crp/NAME",
		Short: "Explain why a template is where it is, or show the state of a policy's templates",
		Long: `Explain why a template is where it is: which policies select it, in which order,
and why others do not; which policy holds it; whether the present policy and
content are in force, and if not, what they wait for and what they would change;
which clusters were chosen and why, and the state of the template in each.
If it does not exist, and members still have it, say why: its kind was defined
anew, or something holds up its removal.

Of a policy, show which templates it holds and the state of each. Of a
placement, show which clusters were picked and which were not, and why; which
snapshot each has, and what it waits for; which objects failed or differ there, and
why; its runs of staged updates and its evictions.

The command uses the functions with which Sluice itself decides.`,
		Example: examples(`
			kubectl sluice explain deployment/nginx -n shop

			# With all policies that do not select it
			kubectl sluice explain deployment/nginx -n shop -o wide

			# The templates of a policy, by state
			kubectl sluice explain pp/nginx -n shop
			kubectl sluice explain cpp/default -o json`),
		Args:              someArgs("KIND/NAME"),
		ValidArgsFunction: s.completeObjects(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := s.objects(args)
			if err != nil {
				return s.sayPropagated(cmd.Context(), err)
			}
			h, err := s.hub()
			if err != nil {
				return err
			}
			for i, key := range keys {
				if i > 0 && !o.forMachines() {
					s.screen.Println("")
				}
				if err := o.explain(cmd.Context(), h, key); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.addTo(cmd, formatWide, formatJSON, formatYAML)
	return cmd
}

func (o *explainOptions) explain(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) error {
	if policy, ok := hub.PolicyKeyOf(key); ok {
		return o.explainPolicy(ctx, h, policy)
	}
	if _, ok := hub.PlacementKeyOf(key); ok {
		return o.explainPlacement(ctx, h, key)
	}
	if err := explainedElsewhere(key); err != nil {
		return err
	}
	sub, err := subject(ctx, h, key)
	if errors.Is(err, outcome.ErrGone) {
		if explained, failed := o.explainGone(ctx, h, key); explained || failed != nil {
			return failed
		}
	}
	if err != nil {
		return notFound(key, err)
	}
	w, err := world(ctx, h)
	if err != nil {
		return err
	}
	if sub.Binding != nil {
		if sub.Revision, err = inForce(ctx, h, sub.Binding); err != nil {
			return err
		}
		if sub.Works, err = h.WorksOf(ctx, sub.Binding.Key); err != nil {
			return installed(err)
		}
	}
	report := w.Explain(sub)
	if sub.Binding == nil {
		if report.CannotTell, err = cannotTell(ctx, h, sub.Template); err != nil {
			return err
		}
	}
	sayRoomless(ctx, h, report.Clusters)
	if o.forMachines() {
		return o.screen.Encode(o.format, report)
	}
	o.show(report, o.claimedAt(ctx, sub.Template))
	return nil
}

// explainedElsewhere returns an error for what other commands tell about: members and
// overrides.
func explainedElsewhere(key propagation.TemplateKey) error {
	_, member := hub.ClusterOf(key)
	_, override := hub.OverrideKeyOf(key)
	_, ofCluster := hub.ClusterOverrideKeyOf(key)
	_, inName := hub.NamespaceOverrideKeyOf(key)
	switch {
	case member, key.GroupVersionKind() == hub.MemberKind():
		return usagef("%s is a member and no template: '%s get clusters' tells how it is", refOf(key), name)
	case override:
		return usagef("%s is an override and no template: '%s render KIND/NAME --cluster MEMBER' shows what a member gets with it, and with '--with FILE' what it would get with another", refOf(key), name)
	case ofCluster, inName:
		return usagef("%s is an override and no template: '%s render crp/NAME --cluster MEMBER' shows what a member gets with it, and with '--with FILE' what it would get with another", refOf(key), name)
	}
	return nil
}

// sayRoomless adds to clusters without a Work that none can be created: the namespace of
// the member's Works is being deleted. What may not be read is not said.
func sayRoomless(ctx context.Context, h *hub.Hub, clusters []explaining.Cluster) {
	for i := range clusters {
		c := &clusters[i]
		if c.State != explaining.Rendering || c.Message != "" {
			continue
		}
		room := propagation.WorkKey{Cluster: c.Name}.Namespace()
		if leaves, err := h.NamespaceLeaves(ctx, room); err == nil && leaves {
			c.Message = "namespace " + room + " is being deleted: it is created again when the Works in it are gone"
			if why := detained(ctx, h, c.Name); why != "" {
				c.Message += "; " + why
			}
		}
	}
}

// detained says which Work of a member waits for somebody else's finalizer; empty: none, or
// they may not be read.
func detained(ctx context.Context, h *hub.Hub, cluster string) string {
	works, err := h.PolicyWorksOn(ctx, cluster)
	if err != nil {
		return ""
	}
	for _, w := range works {
		if why := explaining.Detained(w); why != "" {
			return why
		}
	}
	return ""
}

// claimedAt returns when Sluice last wrote the template's metadata, which it does only
// for a claim; zero: not known.
func (o *explainOptions) claimedAt(ctx context.Context, t *propagation.Template) time.Time {
	mapping, err := o.mapping(t.Key.GroupVersionKind())
	if err != nil {
		return time.Time{}
	}
	client, err := o.metadata()
	if err != nil {
		return time.Time{}
	}
	m, err := client.Resource(mapping.Resource).Namespace(t.Key.Namespace).Get(ctx, t.Key.Name, metav1.GetOptions{})
	if err != nil {
		return time.Time{}
	}
	last := time.Time{}
	for _, f := range m.ManagedFields {
		if f.Manager == propagation.FieldManager && f.Subresource == "" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// show prints a report.
func (o *explainOptions) show(r explaining.Report, claimedAt time.Time) {
	s := o.screen
	s.Println(s.Paint(screen.Bold, where(r.Template)))
	field := func(title, text string) { s.Printf("  %-10s %s\n", title, text) }
	field("Held by", o.holder(r, claimedAt))
	field("In force", o.force(r))
	if message := r.Gate.Message; message != "" {
		field("Gate", o.gate(r)+": "+message)
	} else {
		field("Gate", o.gate(r))
	}
	if r.Suspended != "" {
		field("Suspended", s.Paint(screen.Bad, r.Suspended)+fmt.Sprintf(", by itself: '%s resume %s%s' goes on", name, refOf(r.Template), inNamespace(r.Template.Namespace)))
	}
	for _, unknown := range r.Gates {
		field("Gates", s.Paint(screen.Bad, "not understood")+": "+unknown)
	}
	if r.NotGranted != "" {
		field("Rights", s.Paint(screen.Bad, reporting.ReasonKindNotGranted)+": "+r.NotGranted)
	}
	if i := r.Ignored; i != nil {
		field("Ignored", s.Paint(screen.Warn, "of "+policyRef(i.Policy))+", "+i.Fields)
	}
	if r.IgnoredOfBinding != "" {
		field("Ignored", s.Paint(screen.Warn, "of the binding")+", "+r.IgnoredOfBinding)
	}
	if r.Contested != "" {
		field("Contested", s.Paint(screen.Bad, r.Contested))
	}
	if r.FieldsContested != "" {
		field("Contested", s.Paint(screen.Bad, r.FieldsContested))
	}
	o.showPolicies(r)
	o.showPending(r)
	o.showClusters(r)
}

func (o *explainOptions) holder(r explaining.Report, claimedAt time.Time) string {
	text := "nobody"
	if r.Claim.Policy != nil {
		text = policyRef(*r.Claim.Policy)
		if !claimedAt.IsZero() {
			text += " since " + age(claimedAt)
		}
	}
	if !r.Claim.Settled || r.Claim.Policy == nil {
		text += ": " + r.Claim.Decision.Message
	}
	return text
}

func (o *explainOptions) force(r explaining.Report) string {
	f := r.InForce
	switch {
	case f == nil && r.CannotTell != "":
		return o.screen.Paint(screen.Warn, "cannot tell") + ": " + r.CannotTell
	case f == nil:
		return "nothing was ever propagated"
	}
	var parts []string
	if f.Policy != nil {
		parts = append(parts, fmt.Sprintf("%s, generation %s", policyRef(*f.Policy), f.Generation))
	}
	if len(f.RequiredBy) > 0 {
		parts = append(parts, "required by "+some(f.RequiredBy, fewClusters))
	}
	if f.Number > 0 {
		parts = append(parts, fmt.Sprintf("content revision %d (%s)", f.Number, short(f.Hash)))
	} else {
		parts = append(parts, "content "+short(f.Hash))
	}
	return strings.Join(parts, "; ")
}

func (o *explainOptions) gate(r explaining.Report) string {
	switch {
	case r.Gate.PolicyPending || r.Gate.ContentPending:
		return o.screen.Paint(screen.Warn, "closed") + ", " + r.Gate.Reason
	case r.Gate.Verdict.Verdict == string(gating.Open) && r.Gate.Reason != string(gating.UpToDate):
		return o.screen.Paint(screen.Warn, "open") + ", " + r.Gate.Reason
	case r.InForce == nil:
		return r.Gate.Reason
	}
	return o.screen.Paint(screen.Good, "nothing waits")
}

// showPolicies lists the policies that select the template and those that nearly do;
// with -o wide, all of them.
func (o *explainOptions) showPolicies(r explaining.Report) {
	var rows [][]screen.Cell
	hidden := 0
	for _, p := range r.Policies {
		if !o.wide() && (p.Mismatch == matching.OtherKind || p.Mismatch == matching.OtherNamespace || p.Mismatch == matching.ScopeMismatch) && !p.Holds {
			hidden++
			continue
		}
		rank, note := screen.Text(""), p.Note
		if p.Rank > 0 {
			rank = screen.Text(strconv.Itoa(p.Rank))
		}
		policy := screen.Text(policyRef(p.Policy))
		if p.Holds {
			policy.Paint = screen.Good
			note = strings.Join(nonEmpty("holds it", note), "; ")
		}
		rows = append(rows, []screen.Cell{rank, policy, screen.Text(strconv.Itoa(int(p.Priority))), screen.Text(p.Selects), screen.Text(traits(p)), screen.Text(note)})
	}
	o.screen.Println("\nPolicies")
	if len(rows) > 0 {
		o.screen.Table("  ", screen.Columns("RANK", "POLICY", "PRIORITY", "SELECTS", "TRAITS", "NOTE"), rows, false)
	}
	switch {
	case hidden > 0:
		o.screen.Printf("  %s other kinds or namespaces (-o wide lists them)\n", noun(hidden, "policy selects", "policies select"))
	case len(rows) == 0:
		o.screen.Println("  none selects it")
	}
}

func traits(p explaining.Policy) string {
	var t []string
	if p.Lazy {
		t = append(t, "lazy")
	}
	if p.Preempts {
		t = append(t, "preempts")
	}
	return strings.Join(t, ",")
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

func (o *explainOptions) showPending(r explaining.Report) {
	p := r.Pending
	if p == nil {
		return
	}
	o.screen.Println("\nPending")
	if p.PolicyDiff != "" {
		o.screen.Println("  of the policy:")
		o.screen.Diff("    ", p.PolicyDiff)
	}
	if p.ContentDiff != "" {
		o.screen.Println("  of the content:")
		o.screen.Diff("    ", p.ContentDiff)
	}
	if p.Moves != nil {
		moves := p.Moves.String()
		if p.Moves.None() {
			moves = "changes nothing in any cluster"
		}
		o.screen.Printf("  Released now, it %s: '%s activate %s%s'\n", moves, name, refOf(r.Template), inNamespace(r.Template.Namespace))
	}
}

func (o *explainOptions) showClusters(r explaining.Report) {
	if r.InForce == nil {
		return
	}
	o.screen.Println("\nClusters")
	if m := r.Scheduled.Message; m != "" {
		o.screen.Printf("  %s\n", m)
	}
	o.showRooms(r)
	others := r.NotChosen
	if !o.wide() && len(others) > fewOthers {
		others = others[:fewOthers]
	}
	if len(r.Clusters)+len(others) == 0 {
		return
	}
	rows := make([][]screen.Cell, 0, len(r.Clusters)+len(others))
	for _, c := range slices.Concat(r.Clusters, others) {
		replicas := ""
		if c.Replicas > 0 {
			replicas = strconv.Itoa(int(c.Replicas))
		}
		rows = append(rows, []screen.Cell{
			screen.Text(c.Name), screen.Text(replicas), {Text: string(c.State), Paint: statePaints[c.State]}, screen.Text(c.Health),
			screen.Text(strings.Join(nonEmpty(c.Reason, c.Message), ": ")),
		})
	}
	o.screen.Table("  ", screen.Columns("CLUSTER", "REPLICAS", "STATE", "HEALTH", "WHY"), rows, false)
	if n := len(r.NotChosen) - len(others); n > 0 {
		o.screen.Printf("  %s not chosen either (-o wide lists them)\n", noun(n, "more is", "more are"))
	}
}

// showRooms says how additional replicas would be divided.
func (o *explainOptions) showRooms(r explaining.Report) {
	rooms := r.Rooms
	if len(rooms) == 0 {
		return
	}
	how := "More replicas go where there is room"
	if slices.ContainsFunc(rooms, func(r scheduling.Room) bool { return r.Unknown != "" }) {
		how = "More replicas are divided as if all clusters had room"
	}
	o.screen.Println("  " + how + ":")
	for i, room := range rooms {
		if i == fewOthers && !o.wide() {
			o.screen.Printf("    and %s (-o wide lists them)\n", noun(len(rooms)-i, "more cluster", "more clusters"))
			break
		}
		o.screen.Println("    " + room.String())
	}
}

// fewOthers is how many clusters that were not chosen are shown, unless all are
// requested.
const fewOthers = 5

var statePaints = map[explaining.State]screen.Paint{
	explaining.Applied: screen.Good, explaining.Failed: screen.Bad, explaining.NotRendered: screen.Bad, explaining.Held: screen.Warn,
	explaining.Applying: screen.Warn, explaining.Rendering: screen.Warn, explaining.Kept: screen.Warn, explaining.Leaving: screen.Dim, explaining.NotChosen: screen.Dim,
}

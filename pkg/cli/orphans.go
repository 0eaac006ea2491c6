// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

type orphansOptions struct {
	*session
	output
	elsewhere elsewhere
	cluster   string
}

func orphansCommand(s *session) *cobra.Command {
	o := &orphansOptions{session: s}
	cmd := &cobra.Command{
		Use:   "orphans [CLUSTER]",
		Short: "Show objects in members that this hub created and has no template for",
		Long: `Show the objects in members that this hub created and has no template for, and
why. If the template is created again, it takes over the object.

There is no Work for what was propagated after the backup that the hub was
restored from. Sluice never deletes it: if nobody needs it, delete the object in
the member.

If a CustomResourceDefinition is deleted on the hub and created again, all
objects of the kind go with it, and members keep them. Their Works remain, with
the condition Kept, so an object that is deleted in the member comes back. To
remove it, create the template again, wait until it is applied, and delete it.

The members are asked with the credentials with which they joined, which the
command reads from their Secrets.`,
		Example: examples(`
			# Of all members, and of one
			kubectl sluice get orphans
			kubectl sluice get orphans member1

			# Delete an object that nobody needs any more
			kubectl --kubeconfig MEMBER delete configmap/young -n shop`),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.cluster = strings.Join(args, "")
			return o.run(cmd.Context())
		},
	}
	o.elsewhere.flag(cmd)
	o.addTo(cmd, formatName, formatJSON, formatYAML)
	return cmd
}

// orphan is one line of the list.
type orphan struct {
	Cluster string `json:"cluster"`
	propagation.TemplateKey
	Work    string      `json:"work"`
	Created metav1.Time `json:"created"`
	// Kept: its kind was defined anew.
	Kept bool   `json:"kept,omitempty"`
	Why  string `json:"why"`
}

func (o *orphansOptions) run(ctx context.Context) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	names, err := o.clusters(ctx, h)
	if err != nil {
		return err
	}
	all, answered, failed := []orphan{}, 0, error(nil)
	for _, name := range names {
		found, err := o.of(ctx, h, name)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		} else {
			answered++
		}
		all, failed = append(all, found...), errors.Join(failed, err)
	}
	slices.SortFunc(all, func(a, b orphan) int { return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.ID(), b.ID())) })
	if len(all) == 0 && failed != nil && !o.forMachines() {
		if answered > 0 {
			o.screen.Note("Of the members that answered, none has anything that this hub has no template for.")
		}
		return failed
	}
	return errors.Join(o.show(all), failed)
}

func (o *orphansOptions) clusters(ctx context.Context, h *hub.Hub) ([]string, error) {
	if o.cluster != "" {
		return []string{o.cluster}, areJoined(ctx, h, []string{o.cluster})
	}
	all, err := h.Clusters(ctx)
	if err != nil {
		return nil, installed(err)
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return names, nil
}

// of returns the orphans of one member. Its objects are listed before the Works, so
// that what is propagated in between does not count.
func (o *orphansOptions) of(ctx context.Context, h *hub.Hub, cluster string) ([]orphan, error) {
	member, err := o.credentials(ctx, cluster)
	if err != nil {
		return nil, err
	}
	id, err := h.Identity(ctx)
	if err != nil {
		return nil, err
	}
	candidates, unseen, err := member.Orphans(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(unseen) > 0 {
		slices.Sort(unseen)
		o.screen.Note("%s: of %s nobody can tell, for its credentials may not list them.", cluster, some(unseen, manyObjects))
	}
	works, err := h.WorksOn(ctx, cluster)
	if err != nil {
		return nil, err
	}
	owners := map[string][]*propagation.Work{}
	for _, w := range works {
		for _, owner := range w.Owners() {
			owners[owner] = append(owners[owner], w)
		}
	}
	var found []orphan
	for _, c := range candidates {
		one := orphan{Cluster: cluster, TemplateKey: c.TemplateKey, Work: c.Work, Created: metav1.NewTime(c.Created)}
		if one.judge(owners[c.Work]) {
			found = append(found, one)
		}
	}
	return found, nil
}

// judge reports whether it is an orphan, and says why, given the Works that the object in
// the member names. A placement's Work has many objects, and the name alone does not say
// that it has this one.
func (o *orphan) judge(works []*propagation.Work) bool {
	var kept *metav1.Condition
	has := false
	for _, w := range works {
		kept = cmp.Or(kept, applying.Kept(w))
		has = has || w.Key.Form != propagation.PlacementForm || telling.Has(w, o.TemplateKey)
	}
	switch {
	case kept != nil:
		o.Kept, o.Why = true, kept.Message
	case len(works) == 0:
		o.Why = "the hub has no Work for it"
	case !has:
		o.Why = "the hub's Work of that name does not have it"
	}
	return kept != nil || !has
}

// credentials returns those with which the member joined.
func (o *orphansOptions) credentials(ctx context.Context, cluster string) (*joining.Credentials, error) {
	kube, err := o.kube()
	if err != nil {
		return nil, err
	}
	place, err := o.elsewhere.runsOn(ctx, o.session)
	if err != nil {
		return nil, err
	}
	secret, err := credentialsAt(place, kube).Get(ctx, cluster, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get the member's credentials: %w", err)
	}
	return joining.Parse(secret.Data[keyKubeconfig], "Secret "+propagation.SystemNamespace+"/"+cluster)
}

func (o *orphansOptions) show(all []orphan) error {
	switch o.format {
	case formatName:
		for _, one := range all {
			o.screen.Println(one.Cluster + " " + fullRef(one.TemplateKey))
		}
		return nil
	case formatJSON, formatYAML:
		return o.screen.Encode(o.format, map[string]any{"items": all})
	}
	if len(all) == 0 {
		o.screen.Note("No member has anything that this hub has no template for.")
		return nil
	}
	rows := make([][]screen.Cell, len(all))
	kept := false
	for i, one := range all {
		why := one.Why
		if one.Kept {
			why, kept = "its kind was defined anew", true
		}
		rows[i] = []screen.Cell{screen.Text(one.Cluster), screen.Text(one.Namespace), screen.Text(where(propagation.TemplateKey{APIVersion: one.APIVersion, Kind: one.Kind, Name: one.Name})), screen.Text(age(one.Created.Time)), screen.Text(one.Work), screen.Text(why)}
	}
	o.screen.Table("", screen.Columns("CLUSTER", "NAMESPACE", "OBJECT", "AGE", "WORK", "WHY"), rows, false)
	o.screen.Note("Sluice deletes none of them. A template that is made again takes over its object.")
	if kept {
		o.screen.Note("To remove one whose kind was defined anew, create it again, wait until it is applied, and delete it.")
	}
	return nil
}

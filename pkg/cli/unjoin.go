// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type unjoinOptions struct {
	*session
	elsewhere elsewhere
	name      string
	purge     bool
	timeout   time.Duration
}

func unjoinCommand(s *session) *cobra.Command {
	o := &unjoinOptions{session: s}
	cmd := &cobra.Command{
		Use:   "unjoin NAME",
		Short: "Unjoin a member, and keep or delete what Sluice created in it",
		Long: `Unjoin a member. The objects that Sluice created in it stay there and go on
running, unless --purge is set, which deletes them; an object without Sluice's
label is never deleted. Templates that were placed there may move to other
members, as their policies say.

A command that was interrupted can be run again.`,
		Example: examples(`
			# The member keeps its objects
			kubectl sluice unjoin member1

			# The member keeps nothing
			kubectl sluice unjoin member1 --purge`),
		Args:              oneArg("NAME"),
		ValidArgsFunction: s.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return o.run(cmd.Context())
		},
	}
	o.elsewhere.flag(cmd)
	cmd.Flags().BoolVar(&o.purge, "purge", false, "delete the objects that Sluice created in the member")
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait until Sluice has released the member")
	return cmd
}

// departure is what exists of a cluster that is to be unjoined.
type departure struct {
	*unjoinOptions
	hub     *hub.Hub
	kube    kubernetes.Interface
	place   *eventing // the Knative cluster that Sluice runs on; nil: one process runs all stages
	cluster types.UID // empty: it is deleted already
	secret  *corev1.Secret
	works   []*propagation.Work
	member  *joining.Credentials // only for a purge
}

func (o *unjoinOptions) run(ctx context.Context) error {
	d, err := o.find(ctx)
	if err != nil {
		return err
	}
	if err := d.leave(ctx); err != nil {
		return err
	}
	objects := joining.ObjectsOf(d.works)
	// Once right after the Cluster is gone, and once when its Works are: by then
	// everything that was being written to the member has arrived.
	if err := d.clean(ctx, objects); err != nil {
		return err
	}
	if err := d.released(ctx); err != nil {
		return err
	}
	if err := d.clean(ctx, objects); err != nil {
		return err
	}
	if err := d.parted(ctx); err != nil {
		return err
	}
	if err := d.forget(ctx); err != nil {
		return err
	}
	o.screen.Println(o.name + " is unjoined")
	if !o.purge {
		o.stay(objects)
	}
	return nil
}

// manyObjects is how many objects are named one by one.
const manyObjects = 20

// stay says what goes on running in the member.
func (o *unjoinOptions) stay(objects []joining.Object) {
	if len(objects) == 0 {
		return
	}
	o.screen.Printf("%s in it, with the label %s:\n", noun(len(objects), "object stays", "objects stay"), propagation.LabelMemberWork)
	for i, object := range objects {
		if i == manyObjects {
			o.screen.Printf("  and %d more\n", len(objects)-i)
			return
		}
		o.screen.Println("  " + where(object.TemplateKey))
	}
}

// find reads what exists of the cluster. It is an error if nothing does, or if a purge
// cannot succeed.
func (o *unjoinOptions) find(ctx context.Context) (*departure, error) {
	d := &departure{unjoinOptions: o}
	var err error
	if d.hub, err = o.hub(); err != nil {
		return nil, err
	}
	if d.kube, err = o.kube(); err != nil {
		return nil, err
	}
	if d.place, err = o.elsewhere.runsOn(ctx, o.session); err != nil {
		return nil, err
	}
	c, err := d.hub.Cluster(ctx, o.name)
	switch {
	case err == nil:
		d.cluster = c.UID
	case !errors.Is(err, outcome.ErrGone):
		return nil, err
	}
	secret, err := credentialsAt(d.place, d.kube).Get(ctx, o.name, metav1.GetOptions{})
	if err = ignoreNotFound(err); err != nil {
		return nil, fmt.Errorf("get the credentials of %s: %w", o.name, err)
	}
	if secret != nil && secret.Labels[labelCluster] == o.name {
		d.secret = secret
	}
	if d.works, err = d.hub.WorksOn(ctx, o.name); err != nil && !errors.Is(err, outcome.ErrNotServed) {
		return nil, err
	}
	if d.cluster == "" && d.secret == nil && len(d.works) == 0 {
		return nil, fmt.Errorf("%s is not joined: 'kubectl get clusters' lists the members", o.name)
	}
	if o.purge {
		return d, d.reach(ctx)
	}
	return d, nil
}

// reach makes sure that the member can be purged, before anything is changed.
func (d *departure) reach(ctx context.Context) error {
	const instead = "nothing was changed. Without --purge the cluster can be unjoined all the same; its objects stay"
	if d.secret == nil {
		return fmt.Errorf("there are no credentials for %s any more: %s", d.name, instead)
	}
	var err error
	d.member, err = joining.Parse(d.secret.Data[keyKubeconfig], "Secret "+propagation.SystemNamespace+"/"+d.name)
	if err != nil {
		return fmt.Errorf("%w: %s", err, instead)
	}
	id, err := d.member.Check(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s", err, instead)
	}
	clusters, err := d.hub.Clusters(ctx)
	if err != nil {
		return err
	}
	for _, c := range clusters {
		if c.Name != d.name && c.Spec.ID == id.ID {
			return fmt.Errorf("%s is the same cluster as %s, which has what would be deleted: %s", d.name, c.Name, instead)
		}
	}
	return nil
}

// leave deletes the Cluster: from then on Sluice does not write to it.
func (d *departure) leave(ctx context.Context) error {
	if d.cluster == "" {
		return nil
	}
	client, err := d.dynamic()
	if err != nil {
		return err
	}
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.cluster}}
	if err := client.Resource(clusterResource).Delete(ctx, d.name, opts); ignoreNotFound(err) != nil {
		return fmt.Errorf("delete Cluster %s: %w", d.name, err)
	}
	err = poll(ctx, d.timeout, func(ctx context.Context) (bool, error) {
		_, err := d.hub.Cluster(ctx, d.name)
		if errors.Is(err, outcome.ErrGone) {
			return true, nil
		}
		return false, err
	})
	if err == nil {
		err = d.leavePlacements(ctx)
	}
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("cluster %s is still being deleted after %s: 'kubectl get clusters %s -o yaml' shows the finalizers that it waits for", d.name, d.timeout, d.name)
	}
	return err
}

// leavePlacements deletes the MemberCluster. Sluice removes its finalizer when no
// placement is bound to the member any more (parted).
func (d *departure) leavePlacements(ctx context.Context) error {
	m, err := d.hub.Member(ctx, d.name)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.hub.DeleteMember(ctx, m)
}

// clean deletes what the Works created in the member, if that is requested.
func (d *departure) clean(ctx context.Context, objects []joining.Object) error {
	if d.member == nil {
		return nil
	}
	p := d.screen.Progress()
	defer p.Clear()
	n := 0
	err := d.member.Purge(ctx, objects, func(o joining.Object) {
		n++
		p.Clear()
		d.screen.Printf("%s deleted from %s\n", where(o.TemplateKey), d.name)
		p.Say("%s", "purging "+d.name)
	})
	if err != nil {
		return fmt.Errorf("purge %s: %w. The cluster is unjoined already; what is left there carries the label %s", d.name, err, propagation.LabelMemberWork)
	}
	return nil
}

// ownAccord is how long Sluice has to release the Works of a deleted Cluster. By then
// all of its processes know about the deletion, and nothing can reach the member any
// more: this command releases those that are left, for example because Sluice is not
// running.
const ownAccord = 5 * time.Second

// released waits until Sluice has released the cluster's Works.
func (d *departure) released(ctx context.Context) error {
	p := d.screen.Progress()
	defer p.Clear()
	left, began := 0, time.Now()
	err := poll(ctx, d.timeout, func(ctx context.Context) (bool, error) {
		works, err := d.hub.WorksOn(ctx, d.name)
		if errors.Is(err, outcome.ErrGone) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if left = len(works); left == 0 {
			return true, nil
		}
		p.Say("waiting until Sluice has let go of %s: %s left", d.name, noun(left, "Work", "Works"))
		if time.Since(began) < ownAccord {
			return false, nil
		}
		return false, d.help(ctx, works)
	})
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("%s of %s after %s: run this command again", noun(left, "Work is left", "Works are left"), d.name, d.timeout)
	}
	return err
}

// parted waits until Sluice has removed the finalizer of the MemberCluster. If that
// takes too long and no placement is bound to it, the command removes it: otherwise
// uninstalling Sluice from the hub would wait for it for ever. If placements are bound
// to it, it is removed when they no longer are.
func (d *departure) parted(ctx context.Context) error {
	err := poll(ctx, ownAccord, func(ctx context.Context) (bool, error) {
		m, err := d.hub.Member(ctx, d.name)
		if err != nil {
			return ignoreGone(err) == nil, ignoreGone(err)
		}
		return m.DeletionTimestamp == nil, nil
	})
	if !errors.Is(err, errTimeout) {
		return err
	}
	m, err := d.hub.Member(ctx, d.name)
	if err != nil {
		return ignoreGone(err)
	}
	bindings, err := d.hub.PlacementBindings(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(bindings, func(b *placementv1.ClusterResourceBinding) bool { return b.Spec.TargetCluster == d.name }) {
		return nil
	}
	if _, err := d.hub.CommitMember(ctx, m, mirroring.Released(m)); err != nil && !outcome.IsConflict(err) {
		return ignoreGone(err)
	}
	return nil
}

// ignoreGone returns nil if the object, or its kind, does not exist.
func ignoreGone(err error) error {
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return err
}

// help releases Works.
func (d *departure) help(ctx context.Context, works []*propagation.Work) error {
	for _, w := range works {
		if !w.Deleting {
			if err := d.hub.DeleteWork(ctx, w); err != nil && !outcome.IsConflict(err) {
				return err
			}
			continue // it is released at the next attempt
		}
		if err := d.hub.ReleaseWork(ctx, w); err != nil && !outcome.IsConflict(err) {
			return err
		}
	}
	return nil
}

// forget deletes what only the cluster needed: its roles and source on Knative, the
// namespaces, and the credentials last, so that this command can be run again until
// then.
func (d *departure) forget(ctx context.Context) error {
	d.revoke(ctx)
	if d.place != nil {
		if err := d.place.unjoin(ctx, d.name); err != nil {
			return err
		}
	}
	for _, f := range propagation.Forms {
		ns := f.Namespace(d.name)
		if err := d.kube.CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete namespace %s: %w", ns, err)
		}
	}
	if d.secret == nil {
		return nil
	}
	err := credentialsAt(d.place, d.kube).Delete(ctx, d.name, only(d.secret.ObjectMeta))
	if ignoreNotFound(err) != nil {
		return fmt.Errorf("delete Secret %s/%s: %w", propagation.SystemNamespace, d.name, err)
	}
	return nil
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// withStatus are kinds of which all have a status but Secrets.
type withStatus struct{ catalog }

func (withStatus) HasStatus(gvk schema.GroupVersionKind) bool { return gvk != secrets }

func TestZ28WhichRightIsMissing(t *testing.T) {
	may := map[string]bool{}
	asked := 0
	kube := fake.NewClientset()
	kube.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		what := review.Spec.ResourceAttributes
		review.Status.Allowed = may[review.Spec.User+" "+what.Verb+" "+what.Resource+"/"+what.Subresource+" "+what.Namespace]
		return true, review, nil
	})
	const account = "system:serviceaccount:sluice-system:"
	now := time.Now()
	rights := NewRights(kube.AuthorizationV1().SubjectAccessReviews(), withStatus{}, func() time.Time { return now })
	missing := func(scope propagation.Scope, kinds ...schema.GroupVersionKind) []string {
		t.Helper()
		p := &propagation.Policy{Key: propagation.PolicyKey{Scope: scope, Name: "p"}}
		if scope == propagation.Namespaced {
			p.Key.Namespace = "shop"
		}
		for _, gvk := range kinds {
			p.Spec.ResourceSelectors = append(p.Spec.ResourceSelectors, policyv1alpha1.ResourceSelector{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind})
		}
		list, err := rights.Missing(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range list {
			out = append(out, r.String())
		}
		return out
	}
	expect := func(sentence string, want, got []string) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", sentence, d)
		}
	}

	may[account+"source watch deployments/ shop"] = true
	may[account+"gate get deployments/ shop"] = true
	may[account+"detector patch deployments/ shop"] = true
	expect("the status is not granted", []string{"account reporter may patch the status of deployments.apps in shop"}, missing(propagation.Namespaced, deployments))
	before := asked
	missing(propagation.Namespaced, deployments, deployments)
	if asked != before {
		t.Errorf("what is known was asked for again, %d times", asked-before)
	}
	may[account+"reporter patch deployments/status shop"] = true
	now = now.Add(deniedFor)
	expect("it is granted by now", nil, missing(propagation.Namespaced, deployments))
	if asked != before+1 {
		t.Errorf("%d questions for the one right that was missing", asked-before)
	}
	delete(may, account+"detector patch deployments/ shop")
	now = now.Add(grantedFor)
	expect("it was revoked", []string{"account detector may patch deployments.apps in shop"}, missing(propagation.Namespaced, deployments))
	expect("a cluster's policy needs it everywhere, and a kind without a status no right to it", []string{
		"account source may watch secrets in all namespaces", "account gate may get secrets in all namespaces", "account detector may patch secrets in all namespaces",
	}, missing(propagation.Cluster, secrets))
	expect("of a kind that is not served nothing can be said", nil, missing(propagation.Cluster, widgets))
}

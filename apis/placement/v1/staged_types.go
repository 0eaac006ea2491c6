// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placementv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=clusterstagedupdatestrategies,scope=Cluster,shortName=csus,categories={fleet,fleet-placement,sluice}

// ClusterStagedUpdateStrategy says in which stages members get a placement whose
// rollout strategy is External. Any number of runs may use it.
type ClusterStagedUpdateStrategy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the stages.
	// +required
	Spec UpdateStrategySpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ClusterStagedUpdateStrategyList is a list of ClusterStagedUpdateStrategy.
type ClusterStagedUpdateStrategyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the strategies, in no promised order.
	Items []ClusterStagedUpdateStrategy `json:"items"`
}

// UpdateStrategySpec is the stages of an update.
type UpdateStrategySpec struct {
	// Stages follow one another. Each member that the placement picks has to be in
	// exactly one of them. 1 to 31, each name once.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=31
	Stages []StageConfig `json:"stages"`
}

// StageConfig is one stage: which members are in it, in which order and how many at a
// time they are updated, and what has to happen before and after.
type StageConfig struct {
	// Name of the stage: 1 to 63 lower-case letters and digits.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern="^[a-z0-9]+$"
	Name string `json:"name"`

	// LabelSelector chooses among the members that the placement picks. Empty: all
	// of them; absent: none.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// SortingLabelKey is the label of members whose value, an integer, is their place
	// in the order. Members without it come last; those of equal value, and all if it
	// is absent, are in the order of their names.
	// +optional
	SortingLabelKey *string `json:"sortingLabelKey,omitempty"`

	// MaxConcurrency is how many members of the stage may be updated at a time: a
	// number, or a percentage of the stage's members, rounded down, at least 1.
	// Default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^(100|[1-9][0-9]?)%$"
	// +kubebuilder:validation:XValidation:rule="type(self) == string || self >= 1",message="maxConcurrency must be at least 1"
	MaxConcurrency *intstr.IntOrString `json:"maxConcurrency,omitempty"`

	// BeforeStageTasks have to be done before the first member is updated. Only an
	// Approval is possible.
	// +optional
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:XValidation:rule="!self.exists(e, e.type == 'TimedWait')",message="a task before a stage cannot be TimedWait"
	BeforeStageTasks []StageTask `json:"beforeStageTasks,omitempty"`

	// AfterStageTasks have to be done after the last member was updated, side by side,
	// and before the next stage. At most one of each type.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self.all(e, self.exists_one(f, e.type == f.type))",message="there can be one task of each type"
	AfterStageTasks []StageTask `json:"afterStageTasks,omitempty"`
}

// StageTask is what has to happen before or after a stage.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'TimedWait' || has(self.waitTime)",message="TimedWait needs a waitTime"
// +kubebuilder:validation:XValidation:rule="self.type != 'Approval' || !has(self.waitTime)",message="waitTime is not allowed for Approval"
type StageTask struct {
	// Type is TimedWait (some time has to pass) or Approval (somebody has to approve
	// the ClusterApprovalRequest that is made for it).
	// +required
	// +kubebuilder:validation:Enum=TimedWait;Approval
	Type StageTaskType `json:"type"`

	// WaitTime of a TimedWait, in hours, minutes and seconds: 1h30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^(?:[0-9]+(\\.[0-9]+)?(?:s|m|h))+$"
	WaitTime *metav1.Duration `json:"waitTime,omitempty"`
}

// StageTaskType is what a task waits for.
type StageTaskType string

// The types of tasks.
const (
	StageTaskTimedWait StageTaskType = "TimedWait"
	StageTaskApproval  StageTaskType = "Approval"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterstagedupdateruns,scope=Cluster,shortName=csur,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.placementName`,name="Placement",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.resourceSnapshotIndexUsed`,name="Resource-Snapshot-Index",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.policySnapshotIndexUsed`,name="Policy-Snapshot-Index",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Initialized")].status`,name="Initialized",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Progressing")].status`,name="Progressing",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`,name="Succeeded",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.stagedRolloutStrategyName`,name="Strategy",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name max length is 63"

// ClusterStagedUpdateRun gives the members of a placement whose rollout strategy is
// External one snapshot of it, stage by stage. Members that are no longer picked lose the
// placement after the last stage. If the run is deleted, or the placement picks other
// members, it ends, and each member keeps what it has.
type ClusterStagedUpdateRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is which placement, and by which strategy.
	// +required
	Spec UpdateRunSpec `json:"spec"`

	// Status is how far it is.
	// +optional
	Status UpdateRunStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterStagedUpdateRunList is a list of ClusterStagedUpdateRun.
type ClusterStagedUpdateRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the runs, in no promised order.
	Items []ClusterStagedUpdateRun `json:"items"`
}

// UpdateRunSpec is which snapshot of which placement is rolled out, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || oldSelf.state == 'Initialize' || self.state != 'Initialize'",message="a run that was started cannot go back to Initialize",fieldPath=".state"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || oldSelf.state != 'Initialize' || self.state != 'Stop'",message="a run that was not started cannot be stopped",fieldPath=".state"
// +kubebuilder:validation:XValidation:rule="has(oldSelf.resourceSnapshotIndex) == has(self.resourceSnapshotIndex)",message="resourceSnapshotIndex is immutable",fieldPath=".resourceSnapshotIndex"
type UpdateRunSpec struct {
	// PlacementName names the placement. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="placementName is immutable"
	PlacementName string `json:"placementName"`

	// ResourceSnapshotIndex is the snapshot that members get. Empty: the one in force
	// when the run is initialized. Immutable.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="resourceSnapshotIndex is immutable"
	ResourceSnapshotIndex string `json:"resourceSnapshotIndex,omitempty"`

	// StagedUpdateStrategyName names the ClusterStagedUpdateStrategy, which is read
	// when the run is initialized. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="stagedRolloutStrategyName is immutable"
	StagedUpdateStrategyName string `json:"stagedRolloutStrategyName"`

	// State is Initialize (show what would be done, and do nothing), Run, or Stop (no
	// further member is updated; Run goes on). Default Initialize.
	// +optional
	// +kubebuilder:default=Initialize
	// +kubebuilder:validation:Enum=Initialize;Run;Stop
	State UpdateRunState `json:"state,omitempty"`
}

// UpdateRunState is what is wanted of a run.
type UpdateRunState string

// The states of a run.
const (
	UpdateRunInitialize UpdateRunState = "Initialize"
	UpdateRunRun        UpdateRunState = "Run"
	UpdateRunStop       UpdateRunState = "Stop"
)

// UpdateRunStatus is what a run was initialized with, and how far it is.
type UpdateRunStatus struct {
	// PolicySnapshotIndexUsed is the index of the policy snapshot that picked the
	// members.
	// +optional
	PolicySnapshotIndexUsed string `json:"policySnapshotIndexUsed,omitempty"`

	// PolicyObservedClusterCount is how many members were picked.
	// +optional
	PolicyObservedClusterCount int `json:"policyObservedClusterCount,omitempty"`

	// ResourceSnapshotIndexUsed is the index of the snapshot that members get.
	// +optional
	ResourceSnapshotIndexUsed string `json:"resourceSnapshotIndexUsed,omitempty"`

	// UpdateStrategySnapshot is the strategy as it was.
	// +optional
	UpdateStrategySnapshot *UpdateStrategySpec `json:"stagedUpdateStrategySnapshot,omitempty"`

	// StagesStatus is each stage, in order.
	// +optional
	StagesStatus []StageUpdatingStatus `json:"stagesStatus,omitempty"`

	// DeletionStageStatus is the members that were no longer picked, and lose the
	// placement after the last stage.
	// +optional
	DeletionStageStatus *StageUpdatingStatus `json:"deletionStageStatus,omitempty"`

	// Conditions are Initialized, Progressing and Succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StageUpdatingStatus is how far a stage is.
type StageUpdatingStatus struct {
	// StageName is the name of the stage.
	// +required
	StageName string `json:"stageName"`

	// Clusters are its members, in the order in which they are updated.
	// +required
	Clusters []ClusterUpdatingStatus `json:"clusters"`

	// BeforeStageTaskStatus is what came of the tasks before the stage.
	// +optional
	BeforeStageTaskStatus []StageTaskStatus `json:"beforeStageTaskStatus,omitempty"`

	// AfterStageTaskStatus is what came of the tasks after the stage.
	// +optional
	AfterStageTaskStatus []StageTaskStatus `json:"afterStageTaskStatus,omitempty"`

	// StartTime is when the stage began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// EndTime is when it was done.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// Conditions are Progressing and Succeeded; none before it began.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterUpdatingStatus is how far a member is.
type ClusterUpdatingStatus struct {
	// ClusterName is the member.
	// +required
	ClusterName string `json:"clusterName"`

	// ResourceOverrideSnapshots are the overrides with a namespace that it gets.
	// +optional
	ResourceOverrideSnapshots []NamespacedName `json:"resourceOverrideSnapshots,omitempty"`

	// ClusterResourceOverrideSnapshots are the overrides without one that it gets.
	// +optional
	ClusterResourceOverrideSnapshots []string `json:"clusterResourceOverrideSnapshots,omitempty"`

	// OverriddenFor is what these overrides see of it.
	// +optional
	OverriddenFor *OverriddenFor `json:"overriddenFor,omitempty"`

	// Conditions are Started and Succeeded; none before it began.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StageTaskStatus is what came of a task.
type StageTaskStatus struct {
	// Type of the task.
	// +required
	// +kubebuilder:validation:Enum=TimedWait;Approval
	Type StageTaskType `json:"type"`

	// ApprovalRequestName is the ClusterApprovalRequest of an Approval.
	// +optional
	ApprovalRequestName string `json:"approvalRequestName,omitempty"`

	// Conditions are ApprovalRequestCreated and ApprovalRequestApproved, or
	// WaitTimeElapsed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusterapprovalrequests,scope=Cluster,shortName=careq,categories={fleet,fleet-placement,sluice}
// +kubebuilder:printcolumn:JSONPath=`.spec.parentStageRollout`,name="Update-Run",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.targetStage`,name="Stage",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Approved")].status`,name="Approved",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date

// ClusterApprovalRequest is made for an Approval of a run, and belongs to it. Who approves
// sets its condition Approved to True.
type ClusterApprovalRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is asked.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable"
	Spec ApprovalRequestSpec `json:"spec"`

	// Status is the answer.
	// +optional
	Status ApprovalRequestStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterApprovalRequestList is a list of ClusterApprovalRequest.
type ClusterApprovalRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the requests, in no promised order.
	Items []ClusterApprovalRequest `json:"items"`
}

// ApprovalRequestSpec is the stage that shall begin, or end.
type ApprovalRequestSpec struct {
	// TargetUpdateRun names the run.
	// +required
	TargetUpdateRun string `json:"parentStageRollout"`

	// TargetStage names the stage.
	// +required
	TargetStage string `json:"targetStage"`
}

// ApprovalRequestStatus is the answer to a request.
type ApprovalRequestStatus struct {
	// Conditions are Approved, which people set, and ApprovalAccepted, which says that
	// it was seen.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of the conditions of a run, of its stages, members and tasks, and of requests.
const (
	ConditionInitialized = "Initialized"
	ConditionProgressing = "Progressing"
	ConditionSucceeded   = "Succeeded"
	ConditionStarted     = "Started"

	ConditionApprovalRequestCreated  = "ApprovalRequestCreated"
	ConditionApprovalRequestApproved = "ApprovalRequestApproved"
	ConditionWaitTimeElapsed         = "WaitTimeElapsed"

	ConditionApproved         = "Approved"
	ConditionApprovalAccepted = "ApprovalAccepted"
)

// Reasons of the conditions of a run.
const (
	ReasonUpdateRunInitialized      = "UpdateRunInitializedSuccessfully"
	ReasonUpdateRunInitializeFailed = "UpdateRunInitializedFailed"
	ReasonUpdateRunProgressing      = "UpdateRunProgressing"
	ReasonUpdateRunWaiting          = "UpdateRunWaiting"
	ReasonUpdateRunStuck            = "UpdateRunStuck"
	ReasonUpdateRunStopping         = "UpdateRunStopping"
	ReasonUpdateRunStopped          = "UpdateRunStopped"
	ReasonUpdateRunFailed           = "UpdateRunFailed"
	ReasonUpdateRunSucceeded        = "UpdateRunSucceeded"
)

// Reasons of the conditions of a stage, of a member in it and of a task.
const (
	ReasonStageUpdatingStarted   = "StageUpdatingStarted"
	ReasonStageUpdatingWaiting   = "StageUpdatingWaiting"
	ReasonStageUpdatingSucceeded = "StageUpdatingSucceeded"

	ReasonClusterUpdatingStarted   = "ClusterUpdatingStarted"
	ReasonClusterUpdatingSucceeded = "ClusterUpdatingSucceeded"

	ReasonApprovalRequestCreated  = "StageTaskApprovalRequestCreated"
	ReasonApprovalRequestApproved = "StageTaskApprovalRequestApproved"
	ReasonWaitTimeElapsed         = "AfterStageTaskWaitTimeElapsed"
	ReasonWaitTimeNotElapsed      = "AfterStageTaskWaitTimeNotElapsed"
	ReasonApprovalAccepted        = "ApprovalRequestApprovalAccepted"
)

// DeletionStage is the name of the stage in which members lose the placement.
const DeletionStage = Prefix + "deleteStage"

// Labels of a ClusterApprovalRequest.
const (
	// LabelTargetUpdateRun names the run.
	LabelTargetUpdateRun = Prefix + "targetupdaterun"
	// LabelTargetStage names the stage.
	LabelTargetStage = Prefix + "targetUpdatingStage"
	// LabelTaskType is TaskBeforeStage or TaskAfterStage.
	LabelTaskType = Prefix + "taskType"
	// LabelIsLatestUpdateRunApproval is true: there is one request for each task.
	LabelIsLatestUpdateRunApproval = Prefix + "isLatestUpdateRunApproval"
)

// Values of LabelTaskType.
const (
	TaskBeforeStage = "beforeStage"
	TaskAfterStage  = "afterStage"
)

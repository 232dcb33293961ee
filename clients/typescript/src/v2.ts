// Generated from the protocol's declarations. Change those, then run `python -m threadloom_protocol.codegen`.

/** Yes, and to commands like it too. */
export interface AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecision {
  acceptWithExecpolicyAmendment: ExecpolicyAcceptance;
}

export type Account =
  | ApiKeyAccount
  | ChatgptAccount
  | AmazonBedrockAccount
  | GcpAccount;

/** A login ended, well or not. */
export interface AccountLoginCompletedNotification {
  loginId: string | null;
  success: boolean;
  error: string | null;
  onboardingEntrypoint: DesktopOnboardingEntrypoint | null;
}

export type AccountRoutingOverride = "NO_CONSTRAINT" | "us" | "us_cr";

/** Another account is in use, or none any more. */
export interface AccountUpdatedNotification {
  authMode: AuthMode | null;
  planType: PlanType | null;
}

/** A spawned agent as it is at this moment. */
export interface ActiveAgent {
  threadId: string;
  parentThreadId: string | null;
  depth: number;
  name: string | null;
  note: string | null;
  agentType: string | null;
  agentName: string | null;
  status: CollabAgentStatus;
  statusDurationSec: number;
  model: string | null;
  reasoningEffort: ReasoningEffort | null;
  updatedAt: number;
}

/** The set of permissions in force. */
export interface ActivePermissionProfile {
  id: string;
  extends: string | null;
}

/** In a turn; the flags say what it waits for. */
export interface ActiveThreadStatus {
  type: "active";
  activeFlags: ThreadActiveFlag[];
}

/** The running turn takes no input. */
export interface ActiveTurnNotSteerableCodexErrorInfo {
  activeTurnNotSteerable: NotSteerable;
}

/** A new file. */
export interface AddPatchChangeKind {
  type: "add";
}

/** Something the model should know that the person did not say. */
export interface AdditionalContextEntry {
  value: string;
  kind: AdditionalContextKind;
  name?: string | null;
}

export type AdditionalContextKind = "untrusted" | "application";

/** Files beyond the sandbox. */
export interface AdditionalFileSystemPermissions {
  read: string[] | null;
  write: string[] | null;
  globScanMaxDepth: number | null;
  entries: FileSystemSandboxEntry[] | null;
}

/** The network beyond the sandbox. */
export interface AdditionalNetworkPermissions {
  enabled: boolean | null;
}

/** What a command wants beyond the sandbox. */
export interface AdditionalPermissionProfile {
  network: AdditionalNetworkPermissions | null;
  fileSystem: AdditionalFileSystemPermissions | null;
}

/** List the agents that a thread owns. Those at rest count, for they take input; `includeClosed` adds the others. */
export interface AgentActiveParams {
  threadId: string;
  scope?: AgentScope;
  includeClosed?: boolean;
}

/** Parents before their children. */
export interface AgentActiveResponse {
  data: ActiveAgent[];
}

/** A prescribed hook that runs an agent. */
export interface AgentConfiguredHookHandler {
  type: "agent";
}

/** A hook that runs an agent. */
export interface AgentHookMetadata {
  key: string;
  eventName: HookEventName;
  matcher: string | null;
  timeoutSec: number;
  statusMessage: string | null;
  additionalContextLimit: number | null;
  sourcePath: string;
  source: HookSource;
  pluginId: string | null;
  environmentId: string | null;
  displayOrder: number;
  enabled: boolean;
  isManaged: boolean;
  currentHash: string;
  trustStatus: HookTrustStatus;
  handlerType: "agent";
}

/**
 * List the kinds of agents that can be spawned from a directory (the server's own by default).
 *
 * `agentType` asks for one kind; `expanded` adds the prompts.
 */
export interface AgentListParams {
  cwd?: string | null;
  agentType?: string | null;
  expanded?: boolean;
}

/** The catalogue, and what in it could not be read. */
export interface AgentListResponse {
  data: AgentTemplate[];
  errors: AgentTemplateError[];
}

export type AgentMessageDelivery = "async";

/** The agent says something more. */
export interface AgentMessageDeltaNotification {
  seq?: number;
  fromSeq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
}

/** What the agent said. */
export interface AgentMessageThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "agentMessage";
  id: string;
  text: string;
  phase: MessagePhase | null;
  memoryCitation: MemoryCitation | null;
  delivery: AgentMessageDelivery | null;
  questions: AsyncUserInputQuestion[] | null;
}

/** A named variant of a kind of agent. `prompt` only if it was asked for. */
export interface AgentPersona {
  name: string;
  description: string | null;
  model: string | null;
  reasoningEffort: ReasoningEffort | null;
  prompt: string | null;
}

export type AgentScope = "children" | "descendants" | "all";

/**
 * Say something to an agent: joins its running turn, or starts one if it is at rest.
 *
 * With `interrupt` the running turn ends first. The same `clientUserMessageId` again gets the first answer again.
 */
export interface AgentSendInputParams {
  threadId: string;
  input: UserInput[];
  interrupt?: boolean;
  clientUserMessageId?: string | null;
}

/** The input is in the agent's log under this id. */
export interface AgentSendInputResponse {
  submissionId: string;
}

export type AgentSource = "project" | "user" | "builtIn";

/**
 * Spawn an agent that a thread will own, and give it its first input.
 *
 * What is left out comes from the persona, then from the template, then from the parent. A child has never more
 * rights than its parent. Without `note` it gets one that says what it is.
 */
export interface AgentSpawnParams {
  threadId: string;
  input: UserInput[];
  agentType?: string | null;
  agentName?: string | null;
  model?: string | null;
  reasoningEffort?: ReasoningEffort | null;
  workingDirectory?: string | null;
  note?: string | null;
  onParentClose?: OnParentClose;
  callbackConfig?: CallbackConfig | null;
}

/** The child; its first turn is under way. */
export interface AgentSpawnResponse {
  thread: Thread;
}

/** A kind of agent. `allowList` null means every tool; `defaultPrompt` only if it was asked for. */
export interface AgentTemplate {
  agentType: string;
  description: string;
  source: AgentSource;
  path: string | null;
  model: string | null;
  modelProvider: string | null;
  reasoningEffort: ReasoningEffort | null;
  readOnly: boolean;
  allowList: string[] | null;
  denyList: string[];
  agentNames: AgentPersona[];
  defaultPrompt: string | null;
}

/** A template that was skipped, and why. */
export interface AgentTemplateError {
  path: string;
  message: string;
}

export type AllowDenyRequirement = "allow" | "deny";

/** Use a pair of AWS access keys. */
export interface AmazonBedrockAccessKeysLoginAccountParams {
  type: "amazonBedrockAccessKeys";
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | null;
}

/** Models by way of Amazon Bedrock. */
export interface AmazonBedrockAccount {
  type: "amazonBedrock";
  usesCodexManagedCredentials: boolean;
}

/** Use a Bedrock key. */
export interface AmazonBedrockLoginAccountParams {
  type: "amazonBedrock";
  apiKey: string;
  region: string;
}

/** The credentials are in use. */
export interface AmazonBedrockLoginAccountResponse {
  type: "amazonBedrock";
}

/** `[analytics]`. */
export interface AnalyticsConfig {
  enabled: boolean | null;
}

/** A key of the model provider. */
export interface ApiKeyAccount {
  type: "apiKey";
}

/** Use this key. */
export interface ApiKeyLoginAccountParams {
  type: "apiKey";
  apiKey: string;
}

/** The key is in use. */
export interface ApiKeyLoginAccountResponse {
  type: "apiKey";
}

/** Who stands behind an app. */
export interface AppBranding {
  category: string | null;
  developer: string | null;
  website: string | null;
  privacyPolicy: string | null;
  termsOfService: string | null;
  isDiscoverableApp: boolean;
}

/** An app. */
export interface AppInfo {
  id: string;
  name: string;
  description: string | null;
  logoUrl: string | null;
  logoUrlDark: string | null;
  iconAssets: Record<string, string> | null;
  iconDarkAssets: Record<string, string> | null;
  distributionChannel: string | null;
  branding: AppBranding | null;
  appMetadata: AppMetadata | null;
  labels: Record<string, string> | null;
  installUrl: string | null;
  isAccessible: boolean;
  isEnabled: boolean;
  pluginDisplayNames: string[];
}

/** What a shop window says about an app. */
export interface AppMetadata {
  review: AppReview | null;
  categories: string[] | null;
  subCategories: string[] | null;
  seoDescription: string | null;
  screenshots: AppScreenshot[] | null;
  developer: string | null;
  version: string | null;
  versionId: string | null;
  versionNotes: string | null;
  firstPartyRequiresInstall: boolean | null;
  showInComposerWhenUnlinked: boolean | null;
}

/** How far the review of an app has come. */
export interface AppReview {
  status: string;
}

/** A picture of an app at work. */
export interface AppScreenshot {
  url: string | null;
  fileId: string | null;
  userPrompt: string;
}

export type AppToolApproval = "auto" | "prompt" | "writes" | "approve";

/** Hosts that the application itself may reach. */
export interface ApplicationNetworkRequirements {
  enabled: boolean;
  domains: Record<string, NetworkDomainPermission>;
}

/** What holds for the application itself. */
export interface ApplicationRequirements {
  network: ApplicationNetworkRequirements | null;
  storage: ApplicationStorageRequirements | null;
}

/** Where the application keeps projects. */
export interface ApplicationStorageRequirements {
  defaultProjectParent: string | null;
  projectlessWorkspaceRoot: string | null;
}

/** Decide for the host, now and later. */
export interface ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision {
  applyNetworkPolicyAmendment: NetworkPolicyAcceptance;
}

/** Changes to files. */
export interface ApplyPatchGuardianApprovalReviewAction {
  type: "applyPatch";
  cwd: string;
  files: string[];
}

export type ApprovalsReviewer = "user" | "auto_review" | "guardian_subagent";

/** `[apps]`. */
export interface AppsConfig {
  _default: AppsDefaultConfig | null;
}

/** What holds for every app. */
export interface AppsDefaultConfig {
  enabled: boolean;
  approvals_reviewer: ApprovalsReviewer | null;
  destructive_enabled: boolean;
  open_world_enabled: boolean;
  default_tools_approval_mode: AppToolApproval | null;
}

/** List apps that are connected. */
export interface AppsInstalledParams {
  threadId?: string | null;
  forceRefresh?: boolean;
}

/** The connected apps. */
export interface AppsInstalledResponse {
  apps: InstalledApp[];
}

/** List apps that could be connected. */
export interface AppsListParams {
  cursor?: string | null;
  limit?: number | null;
  threadId?: string | null;
  forceRefetch?: boolean;
}

/** A page of apps. */
export interface AppsListResponse {
  data: AppInfo[];
  nextCursor: string | null;
}

export type AskForApproval =
  | ("untrusted" | "on-request" | "never")
  | GranularAskForApproval;

/** A question that does not hold up the turn. */
export interface AsyncUserInputQuestion {
  title: string;
  options: string[] | null;
}

/** Sound, by address. */
export interface AudioUserInput {
  type: "audio";
  url: string;
}

export type AuthMode = "apikey" | "chatgpt" | "chatgptAuthTokens" | "headers" | "agentIdentity" | "personalAccessToken" | "bedrockApiKey" | "bedrockAccessKeys";

export type AutoCompactTokenLimitScope = "total" | "body_after_prefix";

export type AutoReviewDecisionSource = "agent";

/** When a reviewing model must decide. */
export interface AutoReviewRequirements {
  requiredOnModels: string[] | null;
  ignoreRules: string[] | null;
}

/**
 * Something happened beside the conversation. `isFinal`: a child came to rest, which is worth a notification.
 *
 * `threadId` is null where it is about no thread: how far an index is that is being made, and, final, that it is done.
 */
export interface BackgroundEventNotification {
  seq?: number;
  threadId: string | null;
  message: string;
  isFinal: boolean;
  level: BackgroundLevel;
  childThreadId?: string;
}

export type BackgroundLevel = "info" | "warning" | "error";

/** All that a branch does not have. */
export interface BaseBranchReviewTarget {
  type: "baseBranch";
  branch: string;
}

export type BrowserUseAccessApprovalLifetime = "turn" | "thread";

/** `[browser_use]`. */
export interface BrowserUseConfig {
  allow_history_access: boolean | null;
  default_origin_policy: BrowserUseOriginPolicyConfig | null;
  origins: Record<string, BrowserUseOriginPolicyConfig> | null;
}

/** What a browser extension sends along. */
export interface BrowserUseExtensionRequirements {
  requestHeaders: RequestHeader[] | null;
}

/** What an agent may do on one site. */
export interface BrowserUseOriginPolicy {
  access: AllowDenyRequirement | null;
  downloads: AllowDenyRequirement | null;
  uploads: AllowDenyRequirement | null;
  fullCdpAccess: AllowDenyRequirement | null;
  autoReview: AllowDenyRequirement | null;
  persistentApproval: boolean | null;
  accessApprovalLifetime: BrowserUseAccessApprovalLifetime | null;
}

/** What an agent may do on one site. */
export interface BrowserUseOriginPolicyConfig {
  access: AllowDenyRequirement | null;
  downloads: AllowDenyRequirement | null;
  uploads: AllowDenyRequirement | null;
  full_cdp_access: AllowDenyRequirement | null;
}

/** What an agent may do in a browser. */
export interface BrowserUseRequirements {
  extension: BrowserUseExtensionRequirements | null;
  allowWebmcp: boolean | null;
  allowHistoryAccess: boolean | null;
  disableAutoReview: boolean | null;
  allowGlobalPersistentApproval: boolean | null;
  defaultOriginPolicy: BrowserUseOriginPolicy | null;
  origins: Record<string, BrowserUseOriginPolicy> | null;
}

/** A part of a text, in bytes of UTF-8. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Whether and how a child reports to its parent. `template` is Handlebars; null means the built-in one. */
export interface CallbackConfig {
  enabled?: boolean;
  includeLastMessage?: boolean;
  includeOriginalPrompt?: boolean;
  template?: string | null;
  coalesce?: Coalesce | null;
}

/** Give up a login that has not ended yet. */
export interface CancelLoginAccountParams {
  loginId: string;
}

/** Whether there was one to give up. */
export interface CancelLoginAccountResponse {
  status: CancelLoginAccountStatus;
}

export type CancelLoginAccountStatus = "canceled" | "notFound";

/** In an environment. */
export interface CapabilityRootLocation {
  type: "environment";
  environmentId: string;
  path: string;
}

/** A ChatGPT account and its plan. */
export interface ChatgptAccount {
  type: "chatgpt";
  email: string | null;
  planType: PlanType;
  workspaceName: string | null;
}

/** Use tokens that the client holds and renews. */
export interface ChatgptAuthTokensLoginAccountParams {
  type: "chatgptAuthTokens";
  accessToken: string;
  chatgptAccountId: string;
  chatgptPlanType?: string | null;
}

/** The tokens are in use. */
export interface ChatgptAuthTokensLoginAccountResponse {
  type: "chatgptAuthTokens";
}

/** Ask the client that brought the tokens for fresh ones. */
export interface ChatgptAuthTokensRefreshParams {
  reason: ChatgptAuthTokensRefreshReason;
  previousAccountId: string | null;
}

export type ChatgptAuthTokensRefreshReason = "unauthorized";

/** Fresh tokens. */
export interface ChatgptAuthTokensRefreshResponse {
  accessToken: string;
  chatgptAccountId: string;
  chatgptPlanType?: string | null;
}

/** Log in with a code that is typed in on another device. */
export interface ChatgptDeviceCodeLoginAccountParams {
  type: "chatgptDeviceCode";
}

/** Type this code in at that address. */
export interface ChatgptDeviceCodeLoginAccountResponse {
  type: "chatgptDeviceCode";
  loginId: string;
  verificationUrl: string;
  userCode: string;
}

/** Log in with a browser on this machine. */
export interface ChatgptLoginAccountParams {
  type: "chatgpt";
  codexStreamlinedLogin?: boolean;
  useHostedLoginSuccessPage?: boolean;
  appBrand?: LoginAppBrand | null;
}

/** Open this page to go on. */
export interface ChatgptLoginAccountResponse {
  type: "chatgpt";
  loginId: string;
  authUrl: string;
}

/** Marks what a child said to its parent when a turn of the child ended. */
export interface ChildReport {
  childThreadId: string;
  childTurnId: string;
  status: ReportStatus;
}

export type CliAuthCredentialsStoreMode = "file" | "keyring" | "auto" | "ephemeral";

/** Who the client is. */
export interface ClientInfo {
  name: string;
  version: string;
  title?: string | null;
}

/** A notification that a client sends. */
export type ClientNotification = { method: "initialized" };

/** A request that a client sends. */
export type ClientRequest =
  | { id: RequestId; method: "initialize"; params: InitializeParams }
  | { id: RequestId; method: "model/list"; params?: ModelListParams }
  | { id: RequestId; method: "thread/loaded/list"; params?: ThreadLoadedListParams }
  | { id: RequestId; method: "thread/unsubscribe"; params: ThreadUnsubscribeParams }
  | { id: RequestId; method: "thread/archive"; params: ThreadArchiveParams }
  | { id: RequestId; method: "thread/delete"; params: ThreadDeleteParams }
  | { id: RequestId; method: "thread/name/set"; params: ThreadSetNameParams }
  | { id: RequestId; method: "thread/start"; params?: ThreadStartParams }
  | { id: RequestId; method: "thread/resume"; params: ThreadResumeParams }
  | { id: RequestId; method: "thread/fork"; params: ThreadForkParams }
  | { id: RequestId; method: "thread/read"; params: ThreadReadParams }
  | { id: RequestId; method: "thread/unarchive"; params: ThreadUnarchiveParams }
  | { id: RequestId; method: "thread/metadata/update"; params: ThreadMetadataUpdateParams }
  | { id: RequestId; method: "turn/start"; params: TurnStartParams }
  | { id: RequestId; method: "turn/steer"; params: TurnSteerParams }
  | { id: RequestId; method: "turn/interrupt"; params: TurnInterruptParams }
  | { id: RequestId; method: "thread/note/set"; params: ThreadSetNoteParams }
  | { id: RequestId; method: "thread/close"; params: ThreadCloseParams }
  | { id: RequestId; method: "thread/tree"; params: ThreadTreeParams }
  | { id: RequestId; method: "thread/settings/update"; params: ThreadSettingsUpdateParams }
  | { id: RequestId; method: "thread/list"; params?: ThreadListParams }
  | { id: RequestId; method: "thread/search"; params: ThreadSearchParams }
  | { id: RequestId; method: "thread/searchOccurrences"; params: ThreadSearchOccurrencesParams }
  | { id: RequestId; method: "thread/turns/list"; params: ThreadTurnsListParams }
  | { id: RequestId; method: "thread/items/list"; params: ThreadItemsListParams }
  | { id: RequestId; method: "thread/inject_items"; params: ThreadInjectItemsParams }
  | { id: RequestId; method: "thread/revert"; params: ThreadRevertParams }
  | { id: RequestId; method: "thread/compact/start"; params: ThreadCompactStartParams }
  | { id: RequestId; method: "thread/queue/add"; params: ThreadQueueAddParams }
  | { id: RequestId; method: "thread/queue/list"; params: ThreadQueueListParams }
  | { id: RequestId; method: "thread/queue/update"; params: ThreadQueueUpdateParams }
  | { id: RequestId; method: "thread/queue/delete"; params: ThreadQueueDeleteParams }
  | { id: RequestId; method: "thread/queue/reorder"; params: ThreadQueueReorderParams }
  | { id: RequestId; method: "thread/queue/start"; params: ThreadQueueStartParams }
  | { id: RequestId; method: "thread/queue/pause"; params: ThreadQueuePauseParams }
  | { id: RequestId; method: "thread/queue/resume"; params: ThreadQueueResumeParams }
  | { id: RequestId; method: "thread/callback/set"; params: ThreadCallbackSetParams }
  | { id: RequestId; method: "session/save"; params: SessionSaveParams }
  | { id: RequestId; method: "session/fork"; params: SessionForkParams }
  | { id: RequestId; method: "session/resume"; params: SessionResumeParams }
  | { id: RequestId; method: "session/list"; params?: SessionListParams }
  | { id: RequestId; method: "session/delete"; params: SessionDeleteParams }
  | { id: RequestId; method: "agent/list"; params?: AgentListParams }
  | { id: RequestId; method: "agent/active"; params: AgentActiveParams }
  | { id: RequestId; method: "agent/spawn"; params: AgentSpawnParams }
  | { id: RequestId; method: "agent/sendInput"; params: AgentSendInputParams }
  | { id: RequestId; method: "thread/goal/set"; params: ThreadGoalSetParams }
  | { id: RequestId; method: "thread/goal/get"; params: ThreadGoalGetParams }
  | { id: RequestId; method: "thread/goal/clear"; params: ThreadGoalClearParams }
  | { id: RequestId; method: "review/start"; params: ReviewStartParams }
  | { id: RequestId; method: "thread/shellCommand"; params: ThreadShellCommandParams }
  | { id: RequestId; method: "thread/backgroundTerminals/list"; params: ThreadBackgroundTerminalsListParams }
  | { id: RequestId; method: "thread/backgroundTerminals/terminate"; params: ThreadBackgroundTerminalsTerminateParams }
  | { id: RequestId; method: "thread/backgroundTerminals/clean"; params: ThreadBackgroundTerminalsCleanParams }
  | { id: RequestId; method: "command/exec"; params: CommandExecParams }
  | { id: RequestId; method: "command/exec/write"; params: CommandExecWriteParams }
  | { id: RequestId; method: "command/exec/terminate"; params: CommandExecTerminateParams }
  | { id: RequestId; method: "command/exec/resize"; params: CommandExecResizeParams }
  | { id: RequestId; method: "process/spawn"; params: ProcessSpawnParams }
  | { id: RequestId; method: "process/writeStdin"; params: ProcessWriteStdinParams }
  | { id: RequestId; method: "process/kill"; params: ProcessKillParams }
  | { id: RequestId; method: "process/resizePty"; params: ProcessResizePtyParams }
  | { id: RequestId; method: "fs/readFile"; params: FsReadFileParams }
  | { id: RequestId; method: "fs/writeFile"; params: FsWriteFileParams }
  | { id: RequestId; method: "fs/createDirectory"; params: FsCreateDirectoryParams }
  | { id: RequestId; method: "fs/getMetadata"; params: FsGetMetadataParams }
  | { id: RequestId; method: "fs/readDirectory"; params: FsReadDirectoryParams }
  | { id: RequestId; method: "fs/remove"; params: FsRemoveParams }
  | { id: RequestId; method: "fs/copy"; params: FsCopyParams }
  | { id: RequestId; method: "fs/watch"; params: FsWatchParams }
  | { id: RequestId; method: "fs/unwatch"; params: FsUnwatchParams }
  | { id: RequestId; method: "account/read"; params?: GetAccountParams }
  | { id: RequestId; method: "account/login/start"; params?: LoginAccountParams }
  | { id: RequestId; method: "account/login/cancel"; params: CancelLoginAccountParams }
  | { id: RequestId; method: "account/logout"; params?: LogoutAccountParams }
  | { id: RequestId; method: "collaborationMode/list"; params?: CollaborationModeListParams }
  | { id: RequestId; method: "permissionProfile/list"; params?: PermissionProfileListParams }
  | { id: RequestId; method: "experimentalFeature/list"; params?: ExperimentalFeatureListParams }
  | { id: RequestId; method: "skills/list"; params?: SkillsListParams }
  | { id: RequestId; method: "hooks/list"; params?: HooksListParams }
  | { id: RequestId; method: "mcpServerStatus/list"; params?: ListMcpServerStatusParams }
  | { id: RequestId; method: "plugin/list"; params?: PluginListParams }
  | { id: RequestId; method: "plugin/installed"; params?: PluginInstalledParams }
  | { id: RequestId; method: "app/list"; params?: AppsListParams }
  | { id: RequestId; method: "app/installed"; params?: AppsInstalledParams }
  | { id: RequestId; method: "threadSection/list"; params?: ThreadSectionListParams }
  | { id: RequestId; method: "project/list"; params?: ProjectListParams }
  | { id: RequestId; method: "config/read"; params?: ConfigReadParams }
  | { id: RequestId; method: "config/value/write"; params: ConfigValueWriteParams }
  | { id: RequestId; method: "config/batchWrite"; params: ConfigBatchWriteParams }
  | { id: RequestId; method: "configRequirements/read"; params?: ConfigRequirementsReadParams };

export type CloseHow = "cooperative" | "forced" | "already" | "unverified";

export type ClosedReason = "unloaded" | "closed";

/** How one thread ended. In a dry run `after` repeats `before`; `how` and `ms` are null. */
export interface ClosedThread {
  threadId: string;
  before: CollabAgentStatus;
  after: CollabAgentStatus;
  how: CloseHow | null;
  ms: number | null;
}

/** Gathers reports: those that come within `windowMs` of the first become one, up to `max` of them. */
export interface Coalesce {
  windowMs: number;
  max: number;
}

export type CodexErrorInfo =
  | ("contextWindowExceeded" | "sessionBudgetExceeded" | "usageLimitExceeded" | "rateLimitExceeded" | "flexUnavailable" | "serverOverloaded" | "modelNotFound" | "policyCapacityUnavailable" | "cyberPolicy" | "misalignmentPolicyViolation" | "tooManyDenials" | "internalServerError" | "unauthorized" | "badRequest" | "threadRollbackFailed" | "sandboxError" | "other")
  | HttpConnectionFailedCodexErrorInfo
  | ResponseStreamConnectionFailedCodexErrorInfo
  | ResponseStreamDisconnectedCodexErrorInfo
  | ResponseTooManyFailedAttemptsCodexErrorInfo
  | ActiveTurnNotSteerableCodexErrorInfo
  | string
  | Record<string, unknown>;

/** How an agent stands, and what it said last. */
export interface CollabAgentState {
  status: CollabAgentStatus;
  message: string | null;
}

export type CollabAgentStatus = "pendingInit" | "running" | "interrupted" | "completed" | "errored" | "shutdown" | "notFound";

export type CollabAgentTool = "spawnAgent" | "sendInput" | "resumeAgent" | "wait" | "closeAgent" | "sendMessage" | "followupTask" | "interruptAgent" | "listAgents";

export type CollabAgentToolCallStatus = "inProgress" | "completed" | "failed" | "interrupted";

/** Something an agent did with other agents: spawned, messaged, awaited, closed them. */
export interface CollabAgentToolCallThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "collabAgentToolCall";
  id: string;
  status: CollabAgentToolCallStatus;
  tool: CollabAgentTool;
  senderThreadId: string;
  receiverThreadIds: string[];
  prompt: string | null;
  model: string | null;
  reasoningEffort: ReasoningEffort | null;
  agentsStates: Record<string, CollabAgentState>;
}

/** A preset by its kind, with its settings. */
export interface CollaborationMode {
  mode: ModeKind;
  settings: Settings;
}

/** List presets of model, effort and instructions. */
export type CollaborationModeListParams = Record<string, never>;

/** The presets. */
export interface CollaborationModeListResponse {
  data: CollaborationModeMask[];
}

/** A preset; null leaves a setting alone. */
export interface CollaborationModeMask {
  name: string;
  mode: ModeKind | null;
  model: string | null;
  reasoning_effort: ReasoningEffort | null;
}

export type CommandAction =
  | ReadCommandAction
  | ListFilesCommandAction
  | SearchCommandAction
  | UnknownCommandAction;

/** A prescribed hook that runs a command. */
export interface CommandConfiguredHookHandler {
  type: "command";
  command: string;
  commandWindows: string | null;
  timeoutSec: number | null;
  async: boolean;
  statusMessage: string | null;
  additionalContextLimit: number | null;
}

/** A command wrote something. With `capReached` the rest of this stream is dropped. */
export interface CommandExecOutputDeltaNotification {
  processId: string;
  stream: CommandExecOutputStream;
  deltaBase64: string;
  capReached: boolean;
}

export type CommandExecOutputStream = "stdout" | "stderr";

/**
 * Run a command in the sandbox, without a thread.
 *
 * The answer comes when the process has ended. `command` is a list of arguments, no shell in between. With a
 * `processId` of the client's choosing it can be written to, resized and ended meanwhile; `tty`, `streamStdin` and
 * `streamStdoutStderr` need one. What was streamed is not repeated in the answer. A null in `env` unsets a
 * variable.
 */
export interface CommandExecParams {
  command: string[];
  processId?: string | null;
  tty?: boolean;
  streamStdin?: boolean;
  streamStdoutStderr?: boolean;
  outputBytesCap?: number | null;
  disableOutputCap?: boolean;
  disableTimeout?: boolean;
  timeoutMs?: number | null;
  cwd?: string | null;
  env?: Record<string, string | null> | null;
  size?: CommandExecTerminalSize | null;
  sandboxPolicy?: SandboxPolicy | null;
  /** @experimental */
  permissionProfile?: string | null;
}

/** Change the size of the terminal of a running `command/exec`. */
export interface CommandExecResizeParams {
  processId: string;
  size: CommandExecTerminalSize;
}

/** Done. */
export type CommandExecResizeResponse = Record<string, never>;

/** How the command ended, and what it wrote. */
export interface CommandExecResponse {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** The size of a terminal, in characters. */
export interface CommandExecTerminalSize {
  rows: number;
  cols: number;
}

/** End a running `command/exec` and everything it started. */
export interface CommandExecTerminateParams {
  processId: string;
}

/** Done; how it ended is in the answer to `command/exec`. */
export type CommandExecTerminateResponse = Record<string, never>;

/** Write to the standard input of a running `command/exec`, close it, or both. */
export interface CommandExecWriteParams {
  processId: string;
  deltaBase64?: string | null;
  closeStdin?: boolean;
}

/** Done. */
export type CommandExecWriteResponse = Record<string, never>;

export type CommandExecutionApprovalDecision =
  | ("accept" | "acceptForSession" | "decline" | "cancel")
  | AcceptWithExecpolicyAmendmentCommandExecutionApprovalDecision
  | ApplyNetworkPolicyAmendmentCommandExecutionApprovalDecision;

export type CommandExecutionApprovalKind = "command" | "writeStdin";

/** A command wrote something. */
export interface CommandExecutionOutputDeltaNotification {
  seq?: number;
  fromSeq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
}

/**
 * May this command run?
 *
 * The first answer counts, whichever connection it comes from; `serverRequest/resolved` tells the others. The id
 * stays the same over a reconnect and a restart. `origin` is the chain of threads that the question came up
 * through, from the one that asks to its root. Offer only what `availableDecisions` has, if it is there.
 */
export interface CommandExecutionRequestApprovalParams {
  kind: CommandExecutionApprovalKind;
  threadId: string;
  turnId: string;
  itemId: string;
  startedAtMs: number;
  approvalId: string | null;
  environmentId: string | null;
  reason: string | null;
  networkApprovalContext: NetworkApprovalContext | null;
  command: string | null;
  cwd: string | null;
  commandActions: CommandAction[] | null;
  /** @experimental */
  additionalPermissions: AdditionalPermissionProfile | null;
  proposedExecpolicyAmendment: string[] | null;
  proposedNetworkPolicyAmendments: NetworkPolicyAmendment[] | null;
  /** @experimental */
  availableDecisions: CommandExecutionApprovalDecision[] | null;
  origin?: string[];
}

/** The decision. `decline` lets the turn go on without the command, `cancel` ends the turn. */
export interface CommandExecutionRequestApprovalResponse {
  decision: CommandExecutionApprovalDecision;
}

export type CommandExecutionSource = "agent" | "userShell" | "unifiedExecStartup" | "unifiedExecInteraction";

export type CommandExecutionStatus = "inProgress" | "completed" | "failed" | "declined";

/** A command, its output and how it ended. */
export interface CommandExecutionThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "commandExecution";
  id: string;
  pluginId: string | null;
  scriptPath: string | null;
  command: string;
  cwd: string;
  processId: string | null;
  source: CommandExecutionSource;
  status: CommandExecutionStatus;
  commandActions: CommandAction[];
  aggregatedOutput: string | null;
  exitCode: number | null;
  durationMs: number | null;
}

/** A command line. */
export interface CommandGuardianApprovalReviewAction {
  type: "command";
  source: GuardianCommandSource;
  command: string;
  cwd: string;
}

/** A hook that runs a command. */
export interface CommandHookMetadata {
  key: string;
  eventName: HookEventName;
  matcher: string | null;
  timeoutSec: number;
  statusMessage: string | null;
  additionalContextLimit: number | null;
  sourcePath: string;
  source: HookSource;
  pluginId: string | null;
  environmentId: string | null;
  displayOrder: number;
  enabled: boolean;
  isManaged: boolean;
  currentHash: string;
  trustStatus: HookTrustStatus;
  handlerType: "command";
  command: string;
  async: boolean;
}

/** One commit. */
export interface CommitReviewTarget {
  type: "commit";
  sha: string;
  title?: string | null;
}

/** `[computer_use]`. */
export interface ComputerUseConfig {
  default_app_access: AllowDenyRequirement | null;
  macos: ComputerUseMacosConfig | null;
  windows: ComputerUseWindowsConfig | null;
}

/** Programs of macOS. */
export interface ComputerUseMacosConfig {
  bundle_ids: Record<string, AllowDenyRequirement> | null;
}

/** Which programs of macOS an agent may use. */
export interface ComputerUseMacosRequirements {
  bundleIds: Record<string, AllowDenyRequirement> | null;
}

/** What an agent may do on a desktop. */
export interface ComputerUseRequirements {
  allowLockedComputerUse: boolean | null;
  allowPersistentApproval: boolean | null;
  defaultAppAccess: AllowDenyRequirement | null;
  macos: ComputerUseMacosRequirements | null;
  windows: ComputerUseWindowsRequirements | null;
}

/** Programs of Windows. */
export interface ComputerUseWindowsConfig {
  aumids: Record<string, AllowDenyRequirement> | null;
  exes: ComputerUseWindowsExeConfig[] | null;
}

/** A program of Windows. */
export interface ComputerUseWindowsExeConfig {
  publisher_name: string;
  product_name: string;
  binary_name: string | null;
  access: AllowDenyRequirement;
}

/** A program of Windows, and whether an agent may use it. */
export interface ComputerUseWindowsExeRequirement {
  publisherName: string;
  productName: string;
  binaryName: string | null;
  access: AllowDenyRequirement;
}

/** Which programs of Windows an agent may use. */
export interface ComputerUseWindowsRequirements {
  aumids: Record<string, AllowDenyRequirement> | null;
  exes: ComputerUseWindowsExeRequirement[] | null;
}

/** The configuration in force. Keys that are not named here are passed on as they are. */
export interface Config {
  model: string | null;
  review_model: string | null;
  model_context_window: number | null;
  model_auto_compact_token_limit: number | null;
  model_auto_compact_token_limit_scope: AutoCompactTokenLimitScope | null;
  model_provider: string | null;
  approval_policy: AskForApproval | null;
  approvals_reviewer: ApprovalsReviewer | null;
  sandbox_mode: SandboxMode | null;
  sandbox_workspace_write: SandboxWorkspaceWrite | null;
  forced_chatgpt_workspace_id: ForcedChatgptWorkspaceIds | null;
  forced_login_method: ForcedLoginMethod | null;
  web_search: WebSearchMode | null;
  tools: ToolsV2 | null;
  instructions: string | null;
  developer_instructions: string | null;
  compact_prompt: string | null;
  model_reasoning_effort: ReasoningEffort | null;
  model_reasoning_summary: ReasoningSummary | null;
  model_verbosity: Verbosity | null;
  service_tier: string | null;
  analytics: AnalyticsConfig | null;
  /** @experimental */
  apps: AppsConfig | null;
  browser_use: BrowserUseConfig | null;
  computer_use: ComputerUseConfig | null;
  desktop: Record<string, unknown> | null;
}

/** Write several values at once, or none of them. `reloadUserConfig` hands them on to threads that are loaded. */
export interface ConfigBatchWriteParams {
  edits: ConfigEdit[];
  filePath?: string | null;
  expectedVersion?: string | null;
  reloadUserConfig?: boolean;
}

/** One change of a batch. */
export interface ConfigEdit {
  keyPath: string;
  value: unknown;
  mergeStrategy: MergeStrategy;
}

/** One layer: what it says and which version of it. */
export interface ConfigLayer {
  name: ConfigLayerSource;
  version: string;
  config: unknown;
  disabledReason: string | null;
}

/** Which layer, and which version of it. */
export interface ConfigLayerMetadata {
  name: ConfigLayerSource;
  version: string;
}

export type ConfigLayerSource =
  | PackagedDefaultsConfigLayerSource
  | MdmConfigLayerSource
  | SystemConfigLayerSource
  | EnterpriseManagedConfigLayerSource
  | UserConfigLayerSource
  | ProjectConfigLayerSource
  | SessionFlagsConfigLayerSource
  | LegacyManagedConfigTomlFromFileConfigLayerSource
  | LegacyManagedConfigTomlFromMdmConfigLayerSource;

/**
 * Read the configuration in force for a directory, with the origin of every key.
 *
 * `includeLayers` adds each layer by itself.
 */
export interface ConfigReadParams {
  includeLayers?: boolean;
  cwd?: string | null;
}

/** The configuration, and which layer each key came from. */
export interface ConfigReadResponse {
  config: Config;
  origins: Record<string, ConfigLayerMetadata>;
  layers: ConfigLayer[] | null;
}

/** Everything that can be prescribed. */
export interface ConfigRequirements {
  modelProvider: string | null;
  modelProviders: Record<string, unknown> | null;
  allowedLoginMethods: ForcedLoginMethod[] | null;
  cliAuthCredentialsStore: CliAuthCredentialsStoreMode | null;
  chatgptBaseUrl: string | null;
  additionalDeveloperInstructions: string | null;
  allowedApprovalPolicies: AskForApproval[] | null;
  /** @experimental */
  allowedApprovalsReviewers: ApprovalsReviewer[] | null;
  allowedSandboxModes: SandboxMode[] | null;
  allowedWindowsSandboxImplementations: WindowsSandboxImplementation[] | null;
  allowedPermissionProfiles: Record<string, boolean> | null;
  defaultPermissions: string | null;
  allowedWebSearchModes: WebSearchMode[] | null;
  allowManagedHooksOnly: boolean | null;
  allowBrowserAndComputerUse: boolean | null;
  allowAppshots: boolean | null;
  allowRemoteControl: boolean | null;
  computerUse: ComputerUseRequirements | null;
  browserUse: BrowserUseRequirements | null;
  inAppBrowser: InAppBrowserRequirements | null;
  featureRequirements: Record<string, boolean> | null;
  /** @experimental */
  hooks: ManagedHooksRequirements | null;
  enforceResidency: ResidencyRequirement | null;
  /** @experimental */
  network: NetworkRequirements | null;
  /** @experimental */
  application: ApplicationRequirements | null;
  autoReview: AutoReviewRequirements | null;
  models: ModelsRequirements | null;
  sqliteHome: string | null;
  logDir: string | null;
  modelCatalogJson: string | null;
  checkForUpdateOnStartup: boolean | null;
  allowLoginShell: boolean | null;
  feedback: FeedbackRequirements | null;
  otel: OtelRequirements | null;
}

/** Ask what an administrator prescribes. Nothing is managed here, so the answer is always null. */
export type ConfigRequirementsReadParams = Record<string, never>;

/** What is prescribed; null if nothing is. */
export interface ConfigRequirementsReadResponse {
  supportsIndependentSpeedModes: boolean | null;
  requirements: ConfigRequirements | null;
}

/** Write one value to a configuration file. `expectedVersion` guards against a change in between. */
export interface ConfigValueWriteParams {
  keyPath: string;
  value: unknown;
  mergeStrategy: MergeStrategy;
  filePath?: string | null;
  expectedVersion?: string | null;
}

/** Something in the configuration could not be used as it stands. */
export interface ConfigWarningNotification {
  summary: string;
  details: string | null;
  path: string | null;
  range: TextRange | null;
}

/** What was written, and whether it is in force. */
export interface ConfigWriteResponse {
  status: WriteStatus;
  version: string;
  filePath: string;
  overriddenMetadata: OverriddenMetadata | null;
}

export type ConfiguredHookHandler =
  | CommandConfiguredHookHandler
  | McpToolConfiguredHookHandler
  | PromptConfiguredHookHandler
  | AgentConfiguredHookHandler;

/** Hooks that share a condition. */
export interface ConfiguredHookMatcherGroup {
  matcher: string | null;
  hooks: ConfiguredHookHandler[];
}

/** What the model sees of the history was condensed here. */
export interface ContextCompactionThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "contextCompaction";
  id: string;
}

/** Instructions of one's own. */
export interface CustomMultiAgentMode {
  custom: string;
}

/** What these words say. */
export interface CustomReviewTarget {
  type: "custom";
  instructions: string;
}

/** A client of another kind, by its name. */
export interface CustomSessionSource {
  custom: string;
}

export type CyberAccessProgram = "standard" | "daybreakBlue" | "daybreakRed";

/** No fence. */
export interface DangerFullAccessSandboxPolicy {
  type: "dangerFullAccess";
}

/** A file that goes. */
export interface DeletePatchChangeKind {
  type: "delete";
}

export type DesktopOnboardingEntrypoint = "life_sciences";

export type DynamicToolCallOutputContentItem =
  | InputTextDynamicToolCallOutputContentItem
  | InputImageDynamicToolCallOutputContentItem
  | InputAudioDynamicToolCallOutputContentItem;

/** Run a tool that the client offered with `dynamicTools` when it started the thread. */
export interface DynamicToolCallParams {
  threadId: string;
  turnId: string;
  callId: string;
  namespace: string | null;
  tool: string;
  arguments: unknown;
  origin?: string[];
}

/** What the tool gave back. */
export interface DynamicToolCallResponse {
  contentItems: DynamicToolCallOutputContentItem[];
  success: boolean;
}

export type DynamicToolCallStatus = "inProgress" | "completed" | "failed";

/** A call to a tool of the client. */
export interface DynamicToolCallThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "dynamicToolCall";
  id: string;
  namespace: string | null;
  status: DynamicToolCallStatus;
  durationMs: number | null;
  tool: string;
  arguments: unknown;
  contentItems: DynamicToolCallOutputContentItem[] | null;
  success: boolean | null;
}

/** A tool of a group. */
export interface DynamicToolNamespaceTool {
  type: "function";
  deferLoading?: boolean;
  description: string;
  inputSchema: unknown;
  name: string;
}

export type DynamicToolSpec =
  | FunctionDynamicToolSpec
  | NamespaceDynamicToolSpec;

/** Something that only the model can read. */
export interface EncryptedContentFunctionCallOutputContentItem {
  type: "encrypted_content";
  encrypted_content: string;
}

/** A review begins. */
export interface EnteredReviewModeThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "enteredReviewMode";
  id: string;
  review: string;
}

/** The rules of an enterprise. */
export interface EnterpriseManagedConfigLayerSource {
  type: "enterpriseManaged";
  id: string;
  name: string;
}

/** A call to the model failed. With `willRetry` the turn goes on, else it ends. */
export interface ErrorNotification {
  seq?: number;
  error: TurnError;
  willRetry: boolean;
  threadId: string;
  turnId: string;
}

/** The beginning of a command line that needs no approval from now on. */
export interface ExecpolicyAcceptance {
  execpolicy_amendment: string[];
}

/** A program and its arguments. */
export interface ExecveGuardianApprovalReviewAction {
  type: "execve";
  source: GuardianCommandSource;
  cwd: string;
  program: string;
  argv: string[];
}

/** A review ends, with its findings. */
export interface ExitedReviewModeThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "exitedReviewMode";
  id: string;
  review: string;
}

/** A feature and its switch. */
export interface ExperimentalFeature {
  name: string;
  stage: ExperimentalFeatureStage;
  displayName: string | null;
  description: string | null;
  announcement: string | null;
  enabled: boolean;
  defaultEnabled: boolean;
}

/** List features that can be switched on. */
export interface ExperimentalFeatureListParams {
  cursor?: string | null;
  limit?: number | null;
  threadId?: string | null;
}

/** A page of features. */
export interface ExperimentalFeatureListResponse {
  data: ExperimentalFeature[];
  nextCursor: string | null;
}

export type ExperimentalFeatureStage = "beta" | "underDevelopment" | "stable" | "deprecated" | "removed";

/** Fenced in by somebody else. */
export interface ExternalSandboxSandboxPolicy {
  type: "externalSandbox";
  networkAccess?: NetworkAccess;
}

/** Whether feedback may be sent. */
export interface FeedbackRequirements {
  enabled: boolean | null;
}

export type FileChangeApprovalDecision = "accept" | "acceptForSession" | "decline" | "cancel";

/** The changes that an item proposes are now these. */
export interface FileChangePatchUpdatedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  changes: FileUpdateChange[];
}

/**
 * May these files be changed?
 *
 * The changes are in the item of that id. `grantRoot`, if it is there, would open that directory for the rest of
 * the thread. `origin` is the chain of threads that the question came up through, from the one that asks to its
 * root.
 */
export interface FileChangeRequestApprovalParams {
  threadId: string;
  turnId: string;
  itemId: string;
  startedAtMs: number;
  reason: string | null;
  grantRoot: string | null;
  origin?: string[];
}

/** The decision. `decline` lets the turn go on without the changes, `cancel` ends the turn. */
export interface FileChangeRequestApprovalResponse {
  decision: FileChangeApprovalDecision;
}

/** Changes to files. */
export interface FileChangeThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "fileChange";
  id: string;
  status: PatchApplyStatus;
  changes: FileUpdateChange[];
}

export type FileSystemAccessMode = "read" | "write" | "deny";

export type FileSystemPath =
  | PathFileSystemPath
  | GlobPatternFileSystemPath
  | SpecialFileSystemPath;

/** A place, and what may be done there. */
export interface FileSystemSandboxEntry {
  path: FileSystemPath;
  access: FileSystemAccessMode;
}

export type FileSystemSpecialPath =
  | RootFileSystemSpecialPath
  | MinimalFileSystemSpecialPath
  | ProjectRootsFileSystemSpecialPath
  | TmpdirFileSystemSpecialPath
  | SlashTmpFileSystemSpecialPath
  | UnknownFileSystemSpecialPath;

/** What happens to one file, as a unified diff. */
export interface FileUpdateChange {
  path: string;
  kind: PatchChangeKind;
  diff: string;
}

/** Looked for something on a page. */
export interface FindInPageWebSearchAction {
  type: "findInPage";
  url: string | null;
  pattern: string | null;
}

export type ForcedChatgptWorkspaceIds =
  | string
  | string[];

export type ForcedLoginMethod = "chatgpt" | "api";

/** Something changed at what is being watched. */
export interface FsChangedNotification {
  watchId: string;
  changedPaths: string[];
}

/** Copy a file; a directory only with `recursive`. */
export interface FsCopyParams {
  sourcePath: string;
  destinationPath: string;
  recursive?: boolean;
}

/** Done. */
export type FsCopyResponse = Record<string, never>;

/** Make a directory, and those above it unless `recursive` is false. */
export interface FsCreateDirectoryParams {
  path: string;
  recursive?: boolean | null;
}

/** Done. */
export type FsCreateDirectoryResponse = Record<string, never>;

/** Ask what is at a path. */
export interface FsGetMetadataParams {
  path: string;
}

/** What is there. A link is followed for all but `isSymlink`. */
export interface FsGetMetadataResponse {
  isDirectory: boolean;
  isFile: boolean;
  isSymlink: boolean;
  createdAtMs: number;
  modifiedAtMs: number;
}

/** One name in a directory. */
export interface FsReadDirectoryEntry {
  fileName: string;
  isDirectory: boolean;
  isFile: boolean;
}

/** List a directory. */
export interface FsReadDirectoryParams {
  path: string;
}

/** What the directory has in it. */
export interface FsReadDirectoryResponse {
  entries: FsReadDirectoryEntry[];
}

/** Read a file whole. */
export interface FsReadFileParams {
  path: string;
}

/** Its bytes. */
export interface FsReadFileResponse {
  dataBase64: string;
}

/**
 * Remove a file, or a directory with everything in it.
 *
 * `recursive: false` spares a directory that is not empty; `force: false` makes a missing path an error.
 */
export interface FsRemoveParams {
  path: string;
  recursive?: boolean | null;
  force?: boolean | null;
}

/** Done. */
export type FsRemoveResponse = Record<string, never>;

/** Stop watching. */
export interface FsUnwatchParams {
  watchId: string;
}

/** Done. */
export type FsUnwatchResponse = Record<string, never>;

/** Watch a file or a directory, under a name that the client chooses for this connection. */
export interface FsWatchParams {
  watchId: string;
  path: string;
}

/** The path that is watched, as the system calls it. */
export interface FsWatchResponse {
  path: string;
}

/** Write a file whole, making it or replacing it. */
export interface FsWriteFileParams {
  path: string;
  dataBase64: string;
}

/** Done. */
export type FsWriteFileResponse = Record<string, never>;

export type FunctionCallOutputBody =
  | string
  | FunctionCallOutputContentItem[];

export type FunctionCallOutputContentItem =
  | InputTextFunctionCallOutputContentItem
  | InputImageFunctionCallOutputContentItem
  | InputAudioFunctionCallOutputContentItem
  | EncryptedContentFunctionCallOutputContentItem;

/** The result of a tool, given as input. */
export interface FunctionCallOutputThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "functionCallOutput";
  id: string;
  name: string;
  namespace: string | null;
  output: FunctionCallOutputBody;
}

/** A tool. */
export interface FunctionDynamicToolSpec {
  type: "function";
  deferLoading?: boolean;
  description: string;
  inputSchema: unknown;
  name: string;
}

/** Models by way of Google Cloud. */
export interface GcpAccount {
  type: "gcp";
}

/** Ask which account is in use, and whether one is needed. `refreshToken` renews its tokens first. */
export interface GetAccountParams {
  refreshToken?: boolean;
}

/** The account, or null. A client that gets null and `requiresOpenaiAuth: false` needs no login. */
export interface GetAccountResponse {
  account: Account | null;
  requiresOpenaiAuth: boolean;
  /** @experimental */
  workspaceRouting: WorkspaceRouting | null;
}

/** Where a thread was in Git when it began. */
export interface GitInfo {
  sha: string | null;
  branch: string | null;
  originUrl: string | null;
}

/** From a Git repository. */
export interface GitPluginSource {
  type: "git";
  path: string | null;
  url: string;
  refName: string | null;
  sha: string | null;
}

/** All paths that fit a pattern. */
export interface GlobPatternFileSystemPath {
  type: "glob_pattern";
  pattern: string;
}

/** Which kinds of questions reach a person; the others are refused. */
export interface GranularApproval {
  sandbox_approval: boolean;
  rules: boolean;
  skill_approval?: boolean;
  request_permissions?: boolean;
  mcp_elicitations: boolean;
}

/** Ask about some things and refuse the others. */
export interface GranularAskForApproval {
  granular: GranularApproval;
}

/** How a review stands. */
export interface GuardianApprovalReview {
  status: GuardianApprovalReviewStatus;
  riskLevel: GuardianRiskLevel | null;
  userAuthorization: GuardianUserAuthorization | null;
  rationale: string | null;
}

export type GuardianApprovalReviewAction =
  | CommandGuardianApprovalReviewAction
  | ExecveGuardianApprovalReviewAction
  | WriteStdinGuardianApprovalReviewAction
  | ApplyPatchGuardianApprovalReviewAction
  | NetworkAccessGuardianApprovalReviewAction
  | McpToolCallGuardianApprovalReviewAction
  | RequestPermissionsGuardianApprovalReviewAction;

export type GuardianApprovalReviewStatus = "inProgress" | "approved" | "denied" | "timedOut" | "aborted";

export type GuardianCommandSource = "shell" | "unifiedExec";

export type GuardianRiskLevel = "low" | "medium" | "high" | "critical";

export type GuardianUserAuthorization = "unknown" | "low" | "medium" | "high";

/** Something about reviews that a person should know. */
export interface GuardianWarningNotification {
  seq?: number;
  threadId: string;
  message: string;
}

/** Who still reads the history of a deleted thread, so that it is kept: saved names, and forks by id. */
export interface HistoryKeepers {
  sessions: string[];
  forks: string[];
}

/** A file that could not be used, and why. */
export interface HookErrorInfo {
  path: string;
  message: string;
}

export type HookEventName = "preModelRequest" | "postModelRequest" | "preToolUse" | "permissionRequest" | "postToolUse" | "preCompact" | "postCompact" | "sessionStart" | "sessionEnd" | "userPromptSubmit" | "subagentStart" | "subagentStop" | "stop" | "interrupt";

export type HookMetadata =
  | CommandHookMetadata
  | McpToolHookMetadata
  | PromptHookMetadata
  | AgentHookMetadata;

/** Text that a hook added. */
export interface HookPromptFragment {
  text: string;
  hookRunId: string;
}

/** What hooks added to the prompt. */
export interface HookPromptThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "hookPrompt";
  id: string;
  fragments: HookPromptFragment[];
}

export type HookSource = "system" | "user" | "project" | "mdm" | "sessionFlags" | "plugin" | "cloudRequirements" | "cloudManagedConfig" | "legacyManagedConfigFile" | "legacyManagedConfigMdm" | "unknown";

export type HookTrustStatus = "managed" | "untrusted" | "trusted" | "modified";

/** The hooks of one directory. */
export interface HooksListEntry {
  cwd: string;
  hooks: HookMetadata[];
  warnings: string[];
  errors: HookErrorInfo[];
}

/** List hooks by directory. */
export interface HooksListParams {
  cwds?: string[];
  threadId?: string | null;
}

/** The hooks, by directory. */
export interface HooksListResponse {
  data: HooksListEntry[];
}

/** The model could not be reached. */
export interface HttpConnectionFailedCodexErrorInfo {
  httpConnectionFailed: HttpFailure;
}

/** The HTTP status, if there was one. */
export interface HttpFailure {
  httpStatusCode: number | null;
}

/** At rest. */
export interface IdleThreadStatus {
  type: "idle";
}

export type ImageDetail = "auto" | "low" | "high" | "original";

/** No pictures until the limit resets. */
export interface ImageGenerationFailure {
  type: "usageLimitExceeded";
  limitId: string;
  resetsAt: number | null;
}

/** A picture that was given. */
export interface ImageGenerationInputImage {
  path: string;
  sha256: string;
}

/** A picture that was made, by file id or inline. */
export interface ImageGenerationThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "imageGeneration";
  id: string;
  status: string;
  result?: string;
  failure: ImageGenerationFailure | null;
  generationId: string | null;
  inputImages?: ImageGenerationInputImage[];
  revisedPrompt: string | null;
  savedPath: string | null;
  transparentBackground: boolean | null;
  fileId?: string;
}

/** A picture, by address (a data URL, mostly) or by file id. */
export interface ImageUserInput {
  type: "image";
  detail?: ImageDetail | null;
  url?: string;
  fileId?: string;
}

/** A picture that the agent looked at. */
export interface ImageViewThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "imageView";
  id: string;
  path: string;
}

/** What holds for the built-in browser. */
export interface InAppBrowserRequirements {
  allowExternalBrowserSettingsImport: boolean | null;
}

/**
 * What the client can do, and what it does not want to hear.
 *
 * `experimentalApi` opens the methods and members marked experimental; `optOutNotificationMethods` names
 * notifications that this connection is never sent. The others are accepted, and change nothing here.
 */
export interface InitializeCapabilities {
  experimentalApi?: boolean;
  optOutNotificationMethods?: string[] | null;
  requestAttestation?: boolean;
  explicitGatewayOauth?: boolean;
  mcpServerOpenaiFormElicitation?: boolean;
  extensions?: Record<string, unknown> | null;
}

/** Open the conversation. Must be the first request of a connection, and come once; `initialized` follows it. */
export interface InitializeParams {
  clientInfo: ClientInfo;
  capabilities?: InitializeCapabilities | null;
}

/** Who answers, and where it keeps its files. */
export interface InitializeResponse {
  userAgent: string;
  codexHome: string;
  platformFamily: string;
  platformOs: string;
  server?: ServerInfo;
  sandbox?: SandboxInfo;
}

/** Sound, as a data URL. */
export interface InputAudioDynamicToolCallOutputContentItem {
  type: "inputAudio";
  audioUrl: string;
}

/** Sound. */
export interface InputAudioFunctionCallOutputContentItem {
  type: "input_audio";
  audio_url: string;
}

/** A picture, as a data URL. */
export interface InputImageDynamicToolCallOutputContentItem {
  type: "inputImage";
  imageUrl: string;
}

/** A picture, by address or by file id. */
export interface InputImageFunctionCallOutputContentItem {
  type: "input_image";
  detail?: ImageDetail | null;
  image_url?: string;
  file_id?: string;
}

export type InputModality = "text" | "image" | "audio";

/** Text. */
export interface InputTextDynamicToolCallOutputContentItem {
  type: "inputText";
  text: string;
}

/** Text. */
export interface InputTextFunctionCallOutputContentItem {
  type: "input_text";
  text: string;
}

/** A connected app. */
export interface InstalledApp {
  id: string;
  runtimeName: string | null;
  enabled: boolean;
  callable: boolean;
}

/** An item is done. It supersedes whatever was streamed of it. */
export interface ItemCompletedNotification {
  seq?: number;
  item: ThreadItem;
  threadId: string;
  turnId: string;
  completedAtMs: number;
}

/** The judgement is there. */
export interface ItemGuardianApprovalReviewCompletedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  startedAtMs: number;
  completedAtMs: number;
  reviewId: string;
  targetItemId: string | null;
  decisionSource: AutoReviewDecisionSource;
  review: GuardianApprovalReview;
  action: GuardianApprovalReviewAction;
}

/** A model began to judge whether something may be done. */
export interface ItemGuardianApprovalReviewStartedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  startedAtMs: number;
  reviewId: string;
  targetItemId: string | null;
  review: GuardianApprovalReview;
  action: GuardianApprovalReviewAction;
}

/** An item began. Deltas may follow; `item/completed` has the last word. */
export interface ItemStartedNotification {
  seq?: number;
  item: ThreadItem;
  threadId: string;
  turnId: string;
  startedAtMs: number;
}

/** A managed file of the old kind. */
export interface LegacyManagedConfigTomlFromFileConfigLayerSource {
  type: "legacyManagedConfigTomlFromFile";
  file: string;
}

/** Device management of the old kind. */
export interface LegacyManagedConfigTomlFromMdmConfigLayerSource {
  type: "legacyManagedConfigTomlFromMdm";
}

/** The command lists files. */
export interface ListFilesCommandAction {
  type: "listFiles";
  command: string;
  path: string | null;
}

/** List MCP servers, how they fare and what they offer. */
export interface ListMcpServerStatusParams {
  cursor?: string | null;
  limit?: number | null;
  detail?: McpServerStatusDetail | null;
  threadId?: string | null;
  serverName?: string | null;
}

/** A page of servers. */
export interface ListMcpServerStatusResponse {
  data: McpServerStatus[];
  nextCursor: string | null;
}

/** Sound in a file. */
export interface LocalAudioUserInput {
  type: "localAudio";
  path: string;
}

/** A picture in a file. */
export interface LocalImageUserInput {
  type: "localImage";
  detail?: ImageDetail | null;
  path: string;
}

/** From a directory. */
export interface LocalPluginSource {
  type: "local";
  path: string;
}

/**
 * Log in, in one of several ways.
 *
 * `type` says which. A key or ready-made tokens hold at once, the other ways end with `account/login/completed`.
 */
export type LoginAccountParams =
  | ApiKeyLoginAccountParams
  | ChatgptLoginAccountParams
  | ChatgptDeviceCodeLoginAccountParams
  | ChatgptAuthTokensLoginAccountParams
  | AmazonBedrockLoginAccountParams
  | AmazonBedrockAccessKeysLoginAccountParams;

/** What happens next, by the way of logging in. */
export type LoginAccountResponse =
  | ApiKeyLoginAccountResponse
  | ChatgptLoginAccountResponse
  | ChatgptDeviceCodeLoginAccountResponse
  | ChatgptAuthTokensLoginAccountResponse
  | AmazonBedrockLoginAccountResponse;

export type LoginAppBrand = "codex" | "chatgpt";

/** Forget the key or the tokens of this home. Threads that run keep what they started with. */
export type LogoutAccountParams = Record<string, never>;

/** Done. */
export type LogoutAccountResponse = Record<string, never>;

/** Prescribed hooks, by the moment they run at. */
export interface ManagedHooksRequirements {
  PreModelRequest: ConfiguredHookMatcherGroup[];
  PostModelRequest: ConfiguredHookMatcherGroup[];
  managedDir: string | null;
  windowsManagedDir: string | null;
  PreToolUse: ConfiguredHookMatcherGroup[];
  PermissionRequest: ConfiguredHookMatcherGroup[];
  PostToolUse: ConfiguredHookMatcherGroup[];
  PreCompact: ConfiguredHookMatcherGroup[];
  PostCompact: ConfiguredHookMatcherGroup[];
  SessionStart: ConfiguredHookMatcherGroup[];
  SessionEnd: ConfiguredHookMatcherGroup[];
  UserPromptSubmit: ConfiguredHookMatcherGroup[];
  SubagentStart: ConfiguredHookMatcherGroup[];
  SubagentStop: ConfiguredHookMatcherGroup[];
  Stop: ConfiguredHookMatcherGroup[];
  Interrupt: ConfiguredHookMatcherGroup[];
}

/** How a marketplace calls itself. */
export interface MarketplaceInterface {
  displayName: string | null;
}

/** A marketplace that could not be read, and why. */
export interface MarketplaceLoadErrorInfo {
  marketplacePath: string;
  message: string;
}

export type McpAppDisplayMode = "inline" | "fullscreen";

/** How a tool wants to be shown. */
export interface McpAppUi {
  resourceUri: string;
  preferredModelDisplayMode: McpAppDisplayMode;
}

export type McpAuthStatus = "unknown" | "unsupported" | "notLoggedIn" | "bearerToken" | "oAuth";

export type McpServerConnectionStatus = "notStarted" | "starting" | "connected" | "authenticationRequired" | "failed" | "cancelled" | "disabled";

/** What a server says about itself. */
export interface McpServerInfo {
  name: string;
  title: string | null;
  version: string;
  description: string | null;
  icons: unknown[] | null;
  websiteUrl: string | null;
}

export type McpServerStartupFailureReason = "reauthenticationRequired";

export type McpServerStartupState = "starting" | "ready" | "failed" | "cancelled";

/** A server, its state and its tools by name. */
export interface McpServerStatus {
  name: string;
  runtimeStatus: McpServerConnectionStatus | null;
  pluginId: string | null;
  httpOrigin: string | null;
  serverInfo: McpServerInfo | null;
  serverCapabilities: unknown;
  toolListMeta: unknown;
  tools: Record<string, Tool>;
  toolsError: string | null;
  resources: Resource[];
  resourceTemplates: ResourceTemplate[];
  authStatus: McpAuthStatus;
}

export type McpServerStatusDetail = "full" | "toolsAndAuthOnly";

/** A server is starting, ready, or failed to start. */
export interface McpServerStatusUpdatedNotification {
  threadId: string | null;
  name: string;
  status: McpServerStartupState;
  error: string | null;
  failureReason: McpServerStartupFailureReason | null;
}

/** The app that a tool belongs to. */
export interface McpToolCallAppContext {
  connectorId: string;
  linkId: string | null;
  resourceUri: string | null;
  appName: string | null;
  actionName: string | null;
}

/** Why a tool failed. */
export interface McpToolCallError {
  message: string;
}

/** A call to an MCP tool. */
export interface McpToolCallGuardianApprovalReviewAction {
  type: "mcpToolCall";
  server: string;
  toolName: string;
  connectorId: string | null;
  connectorName: string | null;
  toolTitle: string | null;
}

/** An MCP tool says how far it has come. */
export interface McpToolCallProgressNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  message: string;
}

/** What a tool gave back. */
export interface McpToolCallResult {
  content: unknown[];
  structuredContent: unknown;
  _meta: unknown;
}

export type McpToolCallStatus = "inProgress" | "completed" | "failed";

/** A call to an MCP tool. */
export interface McpToolCallThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "mcpToolCall";
  id: string;
  pluginId: string | null;
  status: McpToolCallStatus;
  durationMs: number | null;
  server: string;
  tool: string;
  arguments: unknown;
  appContext: McpToolCallAppContext | null;
  mcpAppResourceUri: string | null;
  mcpAppUi: McpAppUi | null;
  readOnlyHint: boolean | null;
  result: McpToolCallResult | null;
  error: McpToolCallError | null;
}

/** A prescribed hook that calls an MCP tool. */
export interface McpToolConfiguredHookHandler {
  type: "mcp_tool";
  timeoutSec: number | null;
  statusMessage: string | null;
  server: string;
  tool: string;
  input: Record<string, unknown>;
}

/** A hook that calls an MCP tool. */
export interface McpToolHookMetadata {
  key: string;
  eventName: HookEventName;
  matcher: string | null;
  timeoutSec: number;
  statusMessage: string | null;
  additionalContextLimit: number | null;
  sourcePath: string;
  source: HookSource;
  pluginId: string | null;
  environmentId: string | null;
  displayOrder: number;
  enabled: boolean;
  isManaged: boolean;
  currentHash: string;
  trustStatus: HookTrustStatus;
  handlerType: "mcpTool";
  server: string;
  tool: string;
}

/** Device management. */
export interface MdmConfigLayerSource {
  type: "mdm";
  domain: string;
  key: string;
}

/** Memories that a message rests on. */
export interface MemoryCitation {
  entries: MemoryCitationEntry[];
  threadIds: string[];
}

/** Lines of a memory file. */
export interface MemoryCitationEntry {
  path: string;
  lineStart: number;
  lineEnd: number;
  note: string;
}

/** Something that is mentioned by its path. */
export interface MentionUserInput {
  type: "mention";
  path: string;
  name: string;
}

export type MergeStrategy = "replace" | "upsert";

export type MessagePhase = "commentary" | "partial_answer" | "final_answer";

/** What programs need to run at all. */
export interface MinimalFileSystemSpecialPath {
  kind: "minimal";
}

/** What a safety check objected to. */
export interface MisalignmentErrorDetails {
  errorType: string | null;
  detailedExplanation: string | null;
  steer: MisalignmentSteer | null;
  reviewTarget: string | null;
}

/** What the model was told then. */
export interface MisalignmentSteer {
  message: string;
}

export type ModeKind = "plan" | "default";

/** A model. `id` is what requests name it by. */
export interface Model {
  id: string;
  model: string;
  upgrade: string | null;
  upgradeInfo: ModelUpgradeInfo | null;
  availabilityNux: ModelAvailabilityNux | null;
  displayName: string;
  description: string;
  modelSpecialty: string | null;
  hidden: boolean;
  supportedReasoningEfforts: ReasoningEffortOption[];
  defaultReasoningEffort: ReasoningEffort;
  inputModalities: InputModality[];
  supportsPersonality: boolean;
  multiAgentVersion: MultiAgentVersion | null;
  additionalSpeedTiers: string[];
  serviceTiers: ModelServiceTier[];
  defaultServiceTier: string | null;
  availableAccessPrograms: ModelAccessPrograms | null;
  isDefault: boolean;
}

/** Programs under which a model can be had. */
export interface ModelAccessPrograms {
  cyber: CyberAccessProgram[];
}

/** What to tell a person who first sees the model. */
export interface ModelAvailabilityNux {
  message: string;
}

/**
 * List the models that can be chosen, the default one marked.
 *
 * `includeHidden` adds those a picker would leave out.
 */
export interface ModelListParams {
  cursor?: string | null;
  limit?: number | null;
  includeHidden?: boolean | null;
}

/** A page of models. */
export interface ModelListResponse {
  data: Model[];
  nextCursor: string | null;
}

/** A speed and price at which a model is offered. */
export interface ModelServiceTier {
  id: string;
  name: string;
  description: string;
}

/** Which model takes the place of this one. */
export interface ModelUpgradeInfo {
  model: string;
  upgradeCopy: string | null;
  modelLink: string | null;
  migrationMarkdown: string | null;
  retirementAt: number | null;
}

/** What holds for models. */
export interface ModelsRequirements {
  newThread: NewThreadModelDefaults | null;
}

export type MultiAgentMode =
  | ("explicitRequestOnly" | "proactive")
  | CustomMultiAgentMode;

export type MultiAgentVersion = "disabled" | "v1" | "v2";

/** A group of tools. */
export interface NamespaceDynamicToolSpec {
  type: "namespace";
  description: string;
  name: string;
  tools: DynamicToolNamespaceTool[];
}

export type NetworkAccess = "restricted" | "enabled";

/** A connection to a host. */
export interface NetworkAccessGuardianApprovalReviewAction {
  type: "networkAccess";
  target: string;
  host: string;
  protocol: NetworkApprovalProtocol;
  port: number;
}

/** The host that a command wants to reach. */
export interface NetworkApprovalContext {
  host: string;
  protocol: NetworkApprovalProtocol;
}

export type NetworkApprovalProtocol = "http" | "https" | "socks5Tcp" | "socks5Udp";

export type NetworkDomainPermission = "allow" | "deny";

/** The rule to be added. */
export interface NetworkPolicyAcceptance {
  network_policy_amendment: NetworkPolicyAmendment;
}

/** A host that is let through or kept out from now on. */
export interface NetworkPolicyAmendment {
  host: string;
  action: NetworkPolicyRuleAction;
}

export type NetworkPolicyRuleAction = "allow" | "deny";

/** What commands may reach over the network. */
export interface NetworkRequirements {
  enabled: boolean | null;
  httpPort: number | null;
  socksPort: number | null;
  allowUpstreamProxy: boolean | null;
  dangerouslyAllowNonLoopbackProxy: boolean | null;
  dangerouslyAllowAllUnixSockets: boolean | null;
  domains: Record<string, NetworkDomainPermission> | null;
  reviewDomains: string[] | null;
  managedAllowedDomainsOnly: boolean | null;
  allowedDomains: string[] | null;
  deniedDomains: string[] | null;
  unixSockets: Record<string, NetworkUnixSocketPermission> | null;
  allowUnixSockets: string[] | null;
  allowLocalBinding: boolean | null;
}

export type NetworkUnixSocketPermission = "allow" | "deny";

/** What a new thread starts with. */
export interface NewThreadModelDefaults {
  model: string | null;
  modelReasoningEffort: ReasoningEffort | null;
  serviceTier: string | null;
}

export type NonSteerableTurnKind = "review" | "compact";

/** On disk only. */
export interface NotLoadedThreadStatus {
  type: "notLoaded";
}

/** What kind of turn takes no input. */
export interface NotSteerable {
  turnKind: NonSteerableTurnKind;
}

/** From an npm registry. */
export interface NpmPluginSource {
  type: "npm";
  package: string;
  version: string | null;
  registry: string | null;
}

export type OnParentClose = "cancel" | "abandon";

/** Opened a page. */
export interface OpenPageWebSearchAction {
  type: "openPage";
  url: string | null;
}

export type OtelExporter =
  | ("none" | "statsig")
  | OtlpHttpOtelExporter
  | OtlpGrpcOtelExporter;

export type OtelHttpProtocol = "binary" | "json";

/** Prescribed telemetry. */
export interface OtelRequirements {
  tool_result: OtelToolResultLogConfig | null;
  log_user_prompt: boolean | null;
  log_agent_responses: boolean | null;
  log_guardian_assessments: boolean | null;
  environment: string | null;
  exporter: OtelExporter | null;
  trace_exporter: OtelExporter | null;
  metrics_exporter: OtelExporter | null;
  span_attributes: Record<string, string> | null;
  tracestate: Record<string, Record<string, string>> | null;
}

/** Certificates of an exporter. */
export interface OtelTlsConfig {
  "ca-certificate": string | null;
  "client-certificate": string | null;
  "client-private-key": string | null;
}

/** How much of a tool result may be logged. */
export interface OtelToolResultLogConfig {
  max_bytes: number;
}

/** Started by the server for some other reason: `subSession` here. */
export interface OtherSubAgentSource {
  other: string;
}

/** Something else. */
export interface OtherWebSearchAction {
  type: "other";
}

/** An OTLP address over gRPC. */
export interface OtlpGrpc {
  endpoint: string;
  headers: Record<string, string>;
  tls: OtelTlsConfig | null;
}

/** Export over gRPC. */
export interface OtlpGrpcOtelExporter {
  "otlp-grpc": OtlpGrpc;
}

/** An OTLP address over HTTP. */
export interface OtlpHttp {
  endpoint: string;
  headers: Record<string, string>;
  protocol: OtelHttpProtocol;
  tls: OtelTlsConfig | null;
}

/** Export over HTTP. */
export interface OtlpHttpOtelExporter {
  "otlp-http": OtlpHttp;
}

/** The value is written, but a higher layer says otherwise. */
export interface OverriddenMetadata {
  message: string;
  overridingLayer: ConfigLayerMetadata;
  effectiveValue: unknown;
}

/** Defaults that came with an installation. */
export interface PackagedDefaultsConfigLayerSource {
  type: "packagedDefaults";
  file: string;
}

export type PatchApplyStatus = "inProgress" | "completed" | "failed" | "declined";

export type PatchChangeKind =
  | AddPatchChangeKind
  | DeletePatchChangeKind
  | UpdatePatchChangeKind;

/** One path. */
export interface PathFileSystemPath {
  type: "path";
  path: string;
}

/** List named sets of permissions: those that `permissions` may name. They hold in every directory. */
export interface PermissionProfileListParams {
  cursor?: string | null;
  limit?: number | null;
  cwd?: string | null;
}

/** A page of permission sets. */
export interface PermissionProfileListResponse {
  data: PermissionProfileSummary[];
  nextCursor: string | null;
}

/** A named set of permissions, and whether it may be chosen. */
export interface PermissionProfileSummary {
  id: string;
  description: string | null;
  allowed: boolean;
}

export type Personality = "none" | "friendly" | "pragmatic";

/** A proposed plan goes on. */
export interface PlanDeltaNotification {
  seq?: number;
  fromSeq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
}

/** A plan that the agent proposes. */
export interface PlanThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "plan";
  id: string;
  text: string;
}

export type PlanType = "free" | "go" | "plus" | "pro" | "prolite" | "promax" | "team" | "self_serve_business_prolite" | "self_serve_business_usage_based" | "business" | "ent26" | "enterprise_cbp_automation" | "enterprise_cbp_usage_based" | "enterprise" | "edu" | "edu_plus" | "edu_pro" | "sci" | "sci_plus" | "unknown";

export type PluginAuthPolicy = "ON_INSTALL" | "ON_USE";

export type PluginAvailability = "DISABLED_BY_ADMIN" | "AVAILABLE";

export type PluginDisabledReason = "disabled_by_admin" | "plan_not_eligible" | "required_app_unavailable" | "unknown";

export type PluginInstallPolicy = "NOT_AVAILABLE" | "AVAILABLE" | "INSTALLED_BY_DEFAULT";

export type PluginInstallPolicySource = "WORKSPACE_SETTING" | "IMPLICIT_CANONICAL_APP";

/** List plugins that are installed. */
export interface PluginInstalledParams {
  cwds?: string[] | null;
  installSuggestionPluginNames?: string[] | null;
}

/** The marketplaces, with installed plugins only. */
export interface PluginInstalledResponse {
  marketplaces: PluginMarketplaceEntry[];
  marketplaceLoadErrors: MarketplaceLoadErrorInfo[];
}

/** What a shop window says about a plugin. */
export interface PluginInterface {
  displayName: string | null;
  shortDescription: string | null;
  longDescription: string | null;
  developerName: string | null;
  category: string | null;
  capabilities: string[];
  websiteUrl: string | null;
  privacyPolicyUrl: string | null;
  termsOfServiceUrl: string | null;
  defaultPrompt: string[] | null;
  brandColor: string | null;
  composerIcon: string | null;
  composerIconUrl: string | null;
  logo: string | null;
  logoDark: string | null;
  logoUrl: string | null;
  logoUrlDark: string | null;
  screenshots: string[];
  screenshotUrls: string[];
}

export type PluginListMarketplaceKind = "local" | "vertical" | "workspace-directory" | "shared-with-me" | "created-by-me-remote";

/** List plugins by marketplace. */
export interface PluginListParams {
  cwds?: string[] | null;
  marketplaceKinds?: PluginListMarketplaceKind[] | null;
  forceRefetch?: boolean;
}

/** The marketplaces. */
export interface PluginListResponse {
  marketplaces: PluginMarketplaceEntry[];
  marketplaceLoadErrors: MarketplaceLoadErrorInfo[];
  featuredPluginIds: string[];
}

/** A marketplace and its plugins. */
export interface PluginMarketplaceEntry {
  name: string;
  path: string | null;
  interface: MarketplaceInterface | null;
  plugins: PluginSummary[];
}

/** How a plugin is shared. */
export interface PluginShareContext {
  remotePluginId: string;
  remoteVersion: string | null;
  discoverability: PluginShareDiscoverability | null;
  shareUrl: string | null;
  creatorAccountUserId: string | null;
  creatorName: string | null;
  sharePrincipals: PluginSharePrincipal[] | null;
  canPublishToWorkspace: boolean | null;
}

export type PluginShareDiscoverability = "LISTED" | "UNLISTED" | "PRIVATE";

/** Somebody a plugin is shared with. */
export interface PluginSharePrincipal {
  principalType: PluginSharePrincipalType;
  principalId: string;
  role: PluginSharePrincipalRole;
  name: string;
}

export type PluginSharePrincipalRole = "reader" | "editor" | "owner";

export type PluginSharePrincipalType = "user" | "group" | "workspace";

export type PluginSource =
  | LocalPluginSource
  | GitPluginSource
  | NpmPluginSource
  | RemotePluginSource;

/** A plugin, and whether it is installed. */
export interface PluginSummary {
  id: string;
  remotePluginId: string | null;
  version: string | null;
  localVersion: string | null;
  name: string;
  shareContext: PluginShareContext | null;
  source: PluginSource;
  installed: boolean;
  installedAt: number | null;
  enabled: boolean;
  installPolicy: PluginInstallPolicy;
  installPolicySource: PluginInstallPolicySource | null;
  mustShowInstallationInterstitial: boolean | null;
  authPolicy: PluginAuthPolicy;
  availability: PluginAvailability;
  disabledReason: PluginDisabledReason | null;
  eligiblePlanTypes: string[] | null;
  interface: PluginInterface | null;
  keywords: string[];
}

/** A process ended. What was streamed is not repeated here. */
export interface ProcessExitedNotification {
  processHandle: string;
  exitCode: number;
  outputDrainTimedOut: boolean | null;
  stdout: string;
  stdoutCapReached: boolean;
  stderr: string;
  stderrCapReached: boolean;
}

/** End a process and everything it started. */
export interface ProcessKillParams {
  processHandle: string;
}

/** Asked for; `process/exited` says when it is done. */
export type ProcessKillResponse = Record<string, never>;

/** A process wrote something. With `capReached` the rest of this stream is dropped. */
export interface ProcessOutputDeltaNotification {
  processHandle: string;
  stream: ProcessOutputStream;
  deltaBase64: string;
  capReached: boolean;
}

export type ProcessOutputStream = "stdout" | "stderr";

/** Change the size of the terminal of a process. */
export interface ProcessResizePtyParams {
  processHandle: string;
  size: ProcessTerminalSize;
}

/** Done. */
export type ProcessResizePtyResponse = Record<string, never>;

/**
 * Start a process on the machine of the server, without a thread and without a sandbox.
 *
 * The answer comes as soon as it runs; `process/exited` says how it ended. It is known by the handle that the
 * client chose, on this connection only. A null in `env` unsets a variable; a null `timeoutMs` or `outputBytesCap`
 * means none.
 */
export interface ProcessSpawnParams {
  command: string[];
  processHandle: string;
  cwd: string;
  tty?: boolean;
  streamStdin?: boolean;
  streamStdoutStderr?: boolean;
  outputBytesCap?: number | null;
  timeoutMs?: number | null;
  env?: Record<string, string | null> | null;
  size?: ProcessTerminalSize | null;
}

/** It runs. */
export type ProcessSpawnResponse = Record<string, never>;

/** The size of a terminal, in characters. */
export interface ProcessTerminalSize {
  rows: number;
  cols: number;
}

/** Write to the standard input of a process, close it, or both. */
export interface ProcessWriteStdinParams {
  processHandle: string;
  deltaBase64?: string | null;
  closeStdin?: boolean;
}

/** Done. */
export type ProcessWriteStdinResponse = Record<string, never>;

/** A project. */
export interface Project {
  id: string;
  name: string;
  roots: ProjectRoot[];
  metadata: Record<string, string>;
  position: number;
  createdAt: number;
  updatedAt: number;
  recencyAt: number | null;
}

/** The folder of a project. */
export interface ProjectConfigLayerSource {
  type: "project";
  dotCodexFolder: string;
}

/** List projects that threads belong to. */
export interface ProjectListParams {
  cursor?: string | null;
  limit?: number | null;
  sortKey?: ProjectSortKey | null;
  sortDirection?: SortDirection | null;
}

/** A page of projects. */
export interface ProjectListResponse {
  data: Project[];
  nextCursor: string | null;
}

/** A directory of a project. */
export interface ProjectRoot {
  path: string;
}

/** The directories of the project. */
export interface ProjectRootsFileSystemSpecialPath {
  kind: "project_roots";
  subpath: string | null;
}

export type ProjectSortKey = "position" | "recencyAt";

/** A prescribed hook that asks a model. */
export interface PromptConfiguredHookHandler {
  type: "prompt";
}

/** A hook that asks a model. */
export interface PromptHookMetadata {
  key: string;
  eventName: HookEventName;
  matcher: string | null;
  timeoutSec: number;
  statusMessage: string | null;
  additionalContextLimit: number | null;
  sourcePath: string;
  source: HookSource;
  pluginId: string | null;
  environmentId: string | null;
  displayOrder: number;
  enabled: boolean;
  isManaged: boolean;
  currentHash: string;
  trustStatus: HookTrustStatus;
  handlerType: "prompt";
}

export type QueueKind = "prompt" | "report";

export type QueuePause = "interrupt" | "turnFailed" | "user";

/** How much waits for a thread, and what holds it back: null while it runs by itself. */
export interface QueueState {
  length: number;
  paused: QueuePause | null;
}

/** Something that waits: a prompt, or the report of a child (which cannot be edited). */
export interface QueuedSubmission {
  id: string;
  input: UserInput[];
  clientUserMessageId: string;
  kind: QueueKind;
  report?: ChildReport;
}

/** The command reads a file. */
export interface ReadCommandAction {
  type: "read";
  command: string;
  name: string;
  path: string;
}

/** Read everything, write nothing. */
export interface ReadOnlySandboxPolicy {
  type: "readOnly";
  networkAccess?: boolean;
}

export type ReasoningEffort = string;

/** How hard the model may think. */
export interface ReasoningEffortOption {
  reasoningEffort: ReasoningEffort;
  description: string;
}

export type ReasoningSummary = "auto" | "concise" | "detailed" | "none";

/** The summary of the reasoning has a new part. */
export interface ReasoningSummaryPartAddedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  summaryIndex: number;
}

/** The summary of the reasoning goes on. */
export interface ReasoningSummaryTextDeltaNotification {
  seq?: number;
  fromSeq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
  summaryIndex: number;
}

/** The reasoning itself goes on, where the model shows it. */
export interface ReasoningTextDeltaNotification {
  seq?: number;
  fromSeq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  delta: string;
  contentIndex: number;
}

/** What the model thought, as far as it shows it. */
export interface ReasoningThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "reasoning";
  id: string;
  content: string[];
  summary: string[];
}

export type RejectedReason = "alreadyResolved" | "unknown" | "invalid";

/** From a catalogue elsewhere. */
export interface RemotePluginSource {
  type: "remote";
}

export type ReportStatus = "completed" | "failed" | "interrupted" | "cancelled" | "lost";

/** A header to send along. */
export interface RequestHeader {
  name: string;
  value: string;
}

/** Chosen by the side that asks; the answer carries it unchanged. */
export type RequestId =
  | string
  | number;

/** What is asked for beyond the sandbox. */
export interface RequestPermissionProfile {
  network: AdditionalNetworkPermissions | null;
  fileSystem: AdditionalFileSystemPermissions | null;
}

/** Permissions asked for. */
export interface RequestPermissionsGuardianApprovalReviewAction {
  type: "requestPermissions";
  reason: string | null;
  permissions: RequestPermissionProfile;
}

export type ResidencyRequirement = "us";

/** Something that a server has to read. */
export interface Resource {
  annotations: unknown;
  description: string | null;
  mimeType: string | null;
  name: string;
  size: number | null;
  title: string | null;
  uri: string;
  icons: unknown[] | null;
  _meta: unknown;
}

/** A pattern of addresses that a server can read. */
export interface ResourceTemplate {
  annotations: unknown;
  uriTemplate: string;
  name: string;
  title: string | null;
  description: string | null;
  mimeType: string | null;
}

/** The stream of the answer could not be opened. */
export interface ResponseStreamConnectionFailedCodexErrorInfo {
  responseStreamConnectionFailed: HttpFailure;
}

/** The stream of the answer broke off. */
export interface ResponseStreamDisconnectedCodexErrorInfo {
  responseStreamDisconnected: HttpFailure;
}

/** The retries are used up. */
export interface ResponseTooManyFailedAttemptsCodexErrorInfo {
  responseTooManyFailedAttempts: HttpFailure;
}

export type ReviewDelivery = "inline";

/** Have code reviewed, as a turn of this thread between `enteredReviewMode` and `exitedReviewMode`. */
export interface ReviewStartParams {
  threadId: string;
  target: ReviewTarget;
  delivery?: ReviewDelivery | null;
}

/** The turn, and the thread it runs in. */
export interface ReviewStartResponse {
  turn: Turn;
  reviewThreadId: string;
}

export type ReviewTarget =
  | UncommittedChangesReviewTarget
  | BaseBranchReviewTarget
  | CommitReviewTarget
  | CustomReviewTarget;

/** Everything. */
export interface RootFileSystemSpecialPath {
  kind: "root";
}

/** How commands are fenced in on this machine. */
export interface SandboxInfo {
  kind: string;
}

export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access";

export type SandboxPolicy =
  | DangerFullAccessSandboxPolicy
  | ReadOnlySandboxPolicy
  | ExternalSandboxSandboxPolicy
  | WorkspaceWriteSandboxPolicy;

/** `[sandbox_workspace_write]`. */
export interface SandboxWorkspaceWrite {
  writable_roots: string[];
  network_access: boolean;
  exclude_tmpdir_env_var: boolean;
  exclude_slash_tmp: boolean;
}

/** A name under which this thread was saved, and how far it had come by then. */
export interface SavedPoint {
  name: string;
  seq: number;
  savedAt: number;
}

/** A name that points at a thread at `seq`, with what the thread says of itself today. */
export interface SavedSession {
  name: string;
  threadId: string;
  seq: number;
  savedAt: number;
  createdAt: number;
  updatedAt: number;
  cwd: string;
  model: string | null;
  path: string | null;
}

/** The command searches. */
export interface SearchCommandAction {
  type: "search";
  command: string;
  path: string | null;
  query: string | null;
}

/** Searched for words. */
export interface SearchWebSearchAction {
  type: "search";
  query: string | null;
  queries: string[] | null;
}

/** A directory of capabilities to use. */
export interface SelectedCapabilityRoot {
  id: string;
  location: CapabilityRootLocation;
}

/** Which server this is. */
export interface ServerInfo {
  name: string;
  version: string;
}

/** A notification that the server sends. */
export type ServerNotification =
  | { method: "thread/status/changed"; params: ThreadStatusChangedNotification }
  | { method: "thread/name/updated"; params: ThreadNameUpdatedNotification }
  | { method: "thread/archived"; params: ThreadArchivedNotification }
  | { method: "thread/unarchived"; params: ThreadUnarchivedNotification }
  | { method: "thread/deleted"; params: ThreadDeletedNotification }
  | { method: "thread/closed"; params: ThreadClosedNotification }
  | { method: "thread/started"; params: ThreadStartedNotification }
  | { method: "turn/started"; params: TurnStartedNotification }
  | { method: "turn/completed"; params: TurnCompletedNotification }
  | { method: "turn/diff/updated"; params: TurnDiffUpdatedNotification }
  | { method: "turn/plan/updated"; params: TurnPlanUpdatedNotification }
  | { method: "thread/tokenUsage/updated"; params: ThreadTokenUsageUpdatedNotification }
  | { method: "error"; params: ErrorNotification }
  | { method: "item/started"; params: ItemStartedNotification }
  | { method: "item/completed"; params: ItemCompletedNotification }
  | { method: "item/agentMessage/delta"; params: AgentMessageDeltaNotification }
  | { method: "item/plan/delta"; params: PlanDeltaNotification }
  | { method: "item/reasoning/summaryTextDelta"; params: ReasoningSummaryTextDeltaNotification }
  | { method: "item/reasoning/summaryPartAdded"; params: ReasoningSummaryPartAddedNotification }
  | { method: "item/reasoning/textDelta"; params: ReasoningTextDeltaNotification }
  | { method: "item/commandExecution/outputDelta"; params: CommandExecutionOutputDeltaNotification }
  | { method: "item/commandExecution/terminalInteraction"; params: TerminalInteractionNotification }
  | { method: "item/fileChange/patchUpdated"; params: FileChangePatchUpdatedNotification }
  | { method: "item/mcpToolCall/progress"; params: McpToolCallProgressNotification }
  | { method: "backgroundEvent"; params: BackgroundEventNotification }
  | { method: "thread/gap"; params: ThreadGapNotification }
  | { method: "serverRequest/rejected"; params: ServerRequestRejectedNotification }
  | { method: "thread/note/updated"; params: ThreadNoteUpdatedNotification }
  | { method: "thread/tree/changed"; params: ThreadTreeChangedNotification }
  | { method: "thread/settings/updated"; params: ThreadSettingsUpdatedNotification }
  | { method: "thread/reverted"; params: ThreadRevertedNotification }
  | { method: "thread/queue/changed"; params: ThreadQueueChangedNotification }
  | { method: "session/saved"; params: SessionSavedNotification }
  | { method: "session/deleted"; params: SessionDeletedNotification }
  | { method: "serverRequest/resolved"; params: ServerRequestResolvedNotification }
  | { method: "item/autoApprovalReview/started"; params: ItemGuardianApprovalReviewStartedNotification }
  | { method: "item/autoApprovalReview/completed"; params: ItemGuardianApprovalReviewCompletedNotification }
  | { method: "guardianWarning"; params: GuardianWarningNotification }
  | { method: "thread/goal/updated"; params: ThreadGoalUpdatedNotification }
  | { method: "thread/goal/cleared"; params: ThreadGoalClearedNotification }
  | { method: "command/exec/outputDelta"; params: CommandExecOutputDeltaNotification }
  | { method: "process/outputDelta"; params: ProcessOutputDeltaNotification }
  | { method: "process/exited"; params: ProcessExitedNotification }
  | { method: "fs/changed"; params: FsChangedNotification }
  | { method: "account/updated"; params: AccountUpdatedNotification }
  | { method: "account/login/completed"; params: AccountLoginCompletedNotification }
  | { method: "mcpServer/startupStatus/updated"; params: McpServerStatusUpdatedNotification }
  | { method: "configWarning"; params: ConfigWarningNotification }
  | { method: "warning"; params: WarningNotification };

/** A request that the server sends and one client answers. */
export type ServerRequest =
  | { id: RequestId; method: "item/commandExecution/requestApproval"; params: CommandExecutionRequestApprovalParams }
  | { id: RequestId; method: "item/fileChange/requestApproval"; params: FileChangeRequestApprovalParams }
  | { id: RequestId; method: "item/tool/requestUserInput"; params: ToolRequestUserInputParams }
  | { id: RequestId; method: "item/tool/call"; params: DynamicToolCallParams }
  | { id: RequestId; method: "account/chatgptAuthTokens/refresh"; params: ChatgptAuthTokensRefreshParams };

/**
 * An answer of this connection was not used: another one came first, nothing of that id was asked, or it does not
 * fit what was asked. `threadId` is null where no thread is known to have asked.
 */
export interface ServerRequestRejectedNotification {
  threadId: string | null;
  requestId: string | number;
  reason: RejectedReason;
}

/** A question was answered, or is no longer of interest; take it off the screen. */
export interface ServerRequestResolvedNotification {
  seq?: number;
  threadId: string;
  requestId: RequestId;
}

/** Forget a saved name. The thread stays. */
export interface SessionDeleteParams {
  name: string;
}

/** Done. */
export type SessionDeleteResponse = Record<string, never>;

/** A saved name is gone. Goes to every connection. */
export interface SessionDeletedNotification {
  seq?: number;
  threadId: string;
  name: string;
}

/** Flags on the command line. */
export interface SessionFlagsConfigLayerSource {
  type: "sessionFlags";
}

/**
 * Start a new thread of its own from a saved name, a thread id, or 8 or more first characters of an id.
 *
 * A name forks from the saved point, an id from its end; `at` says otherwise. `byId` does not look at names.
 */
export interface SessionForkParams {
  session: string;
  at?: SessionPoint | null;
  byId?: boolean;
  excludeTurns?: boolean;
}

/** The new thread, as `thread/fork` would answer. */
export interface SessionForkResponse {
  thread: Thread;
  model: string;
  modelProvider: string;
  serviceTier: string | null;
  disabledPluginIds: string[];
  cwd: string;
  /** @experimental */
  runtimeWorkspaceRoots: string[];
  instructionSources: string[];
  approvalPolicy: AskForApproval;
  approvalsReviewer: ApprovalsReviewer;
  sandbox: SandboxPolicy;
  /** @experimental */
  activePermissionProfile: ActivePermissionProfile | null;
  reasoningEffort: ReasoningEffort | null;
  /** @experimental */
  multiAgentMode: MultiAgentMode;
}

/** List saved sessions, the latest first. */
export interface SessionListParams {
  cursor?: string | null;
  limit?: number | null;
}

/** A page of saved sessions. */
export interface SessionListResponse {
  data: SavedSession[];
  nextCursor: string | null;
}

/** How far a thread went on since it was saved. */
export interface SessionMoved {
  turns: number;
  seq: number;
}

export type SessionPoint = "saved" | "head";

/** Open the very thread that a saved name, an id or the beginning of an id means, wherever it has got to. */
export interface SessionResumeParams {
  session: string;
  byId?: boolean;
  excludeTurns?: boolean;
  initialTurnsPage?: ThreadResumeInitialTurnsPageParams | null;
}

/** The thread, as `thread/resume` would answer, and how far it has moved; null if it was not found by a name. */
export interface SessionResumeResponse {
  thread: Thread;
  model: string;
  modelProvider: string;
  serviceTier: string | null;
  disabledPluginIds: string[];
  cwd: string;
  /** @experimental */
  runtimeWorkspaceRoots: string[];
  instructionSources: string[];
  approvalPolicy: AskForApproval;
  approvalsReviewer: ApprovalsReviewer;
  sandbox: SandboxPolicy;
  /** @experimental */
  activePermissionProfile: ActivePermissionProfile | null;
  reasoningEffort: ReasoningEffort | null;
  collaborationMode: CollaborationMode | null;
  /** @experimental */
  multiAgentMode: MultiAgentMode;
  /** @experimental */
  initialTurnsPage: TurnsPage | null;
  turnsBackwardsCursor: string | null;
  itemsBackwardsCursor: string | null;
  seq?: number;
  truncated?: boolean;
  moved: SessionMoved | null;
}

/**
 * Give a name to a thread as it is now. Frozen: later turns do not move it; saving under the name again does.
 *
 * 1 to 100 characters, no control characters, no `-` at the start. In the middle of a turn, the saved state is as
 * if the turn had been interrupted there. An ephemeral thread cannot be saved.
 */
export interface SessionSaveParams {
  threadId: string;
  name: string;
}

/** What was saved. */
export interface SessionSaveResponse {
  session: SavedSession;
}

/** A thread was saved under a name. Goes to every connection. */
export interface SessionSavedNotification {
  seq?: number;
  threadId: string;
  session: SavedSession;
}

export type SessionSource =
  | ("cli" | "vscode" | "exec" | "appServer" | "unknown")
  | CustomSessionSource
  | SubAgentSessionSource;

/** What a preset sets. */
export interface Settings {
  model: string;
  reasoning_effort?: ReasoningEffort | null;
  developer_instructions?: string | null;
}

/** What a skill needs. */
export interface SkillDependencies {
  tools: SkillToolDependency[];
}

/** A skill that could not be read, and why. */
export interface SkillErrorInfo {
  path: string;
  message: string;
}

/** How a skill looks in a list. */
export interface SkillInterface {
  displayName: string | null;
  shortDescription: string | null;
  iconSmall: string | null;
  iconLarge: string | null;
  iconSmallUrl: string | null;
  iconLargeUrl: string | null;
  brandColor: string | null;
  defaultPrompt: string | null;
}

/** A skill. */
export interface SkillMetadata {
  name: string;
  description: string;
  shortDescription: string | null;
  interface: SkillInterface | null;
  dependencies: SkillDependencies | null;
  path: string;
  scope: SkillScope;
  enabled: boolean;
  pluginId: string | null;
}

export type SkillScope = "user" | "repo" | "system" | "admin";

/** A tool that a skill needs. */
export interface SkillToolDependency {
  type: string;
  value: string;
  description: string | null;
  transport: string | null;
  command: string | null;
  url: string | null;
}

/** A skill to use. */
export interface SkillUserInput {
  type: "skill";
  path: string;
  name: string;
}

/** The skills of one directory. */
export interface SkillsListEntry {
  cwd: string;
  skills: SkillMetadata[];
  errors: SkillErrorInfo[];
}

/** List skills by directory. */
export interface SkillsListParams {
  cwds?: string[];
  forceReload?: boolean;
}

/** The skills, by directory. */
export interface SkillsListResponse {
  data: SkillsListEntry[];
}

/** `/tmp`. */
export interface SlashTmpFileSystemSpecialPath {
  kind: "slash_tmp";
}

/** A pause. */
export interface SleepThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "sleep";
  id: string;
  durationMs: number;
}

export type SortDirection = "asc" | "desc";

/** What a child was spawned with. The rights in it hold for good: a resume does not widen them. */
export interface SpawnConfig {
  kind: SpawnKind;
  agentType: string | null;
  agentName: string | null;
  model: string | null;
  reasoningEffort: ReasoningEffort | null;
  workingDirectory: string;
  readOnly: boolean;
  allowList: string[] | null;
  denyList: string[];
  onParentClose: OnParentClose;
  callbackConfig: CallbackConfig;
}

export type SpawnKind = "agent" | "subSession" | "review";

/** The place in the parent at which a child was born. */
export interface SpawnPoint {
  turnId: string;
  itemIndex: number;
}

/** A place known by its role. */
export interface SpecialFileSystemPath {
  type: "special";
  value: FileSystemSpecialPath;
}

export type SubAgentActivityKind = "started" | "interacted" | "interrupted" | "completed";

/** Something that happened to a sub-agent. */
export interface SubAgentActivityThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "subAgentActivity";
  id: string;
  model: string | null;
  reasoningEffort: ReasoningEffort | null;
  kind: SubAgentActivityKind;
  agentThreadId: string;
  agentPath: string;
}

/** Started by another thread. */
export interface SubAgentSessionSource {
  subAgent: SubAgentSource;
}

export type SubAgentSource =
  | ("review" | "compact" | "memory_consolidation")
  | ThreadSpawnSubAgentSource
  | OtherSubAgentSource;

/** The file of the machine. */
export interface SystemConfigLayerSource {
  type: "system";
  file: string;
}

/** At rest after a turn that failed. */
export interface SystemErrorThreadStatus {
  type: "systemError";
}

/** The agent typed something into a running command. */
export interface TerminalInteractionNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  itemId: string;
  processId: string;
  stdin: string;
}

/** A part of a text that a client shows in its own way. */
export interface TextElement {
  byteRange: ByteRange;
  placeholder?: string | null;
}

/** A place in a text, counted from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

/** From one place in a text to another. */
export interface TextRange {
  start: TextPosition;
  end: TextPosition;
}

/** Text. */
export interface TextUserInput {
  type: "text";
  text: string;
  text_elements?: TextElement[];
}

/**
 * A thread. Its tree is named by `sessionId`, the id of the root; times are in seconds.
 *
 * `turns` is filled only where a method says so. Of this product: `note`, the names it is `savedAs`, its `queue`,
 * where and with what it was spawned, the reports on its turns that nobody has taken (`keptReports`), and `seq`, the
 * number of the last event in it.
 */
export interface Thread {
  id: string;
  /** @experimental */
  environments: ThreadEnvironment[] | null;
  /** @experimental */
  extra: ThreadExtra | null;
  sessionId: string;
  forkedFromId: string | null;
  parentThreadId: string | null;
  preview: string;
  ephemeral: boolean;
  section: ThreadSection | null;
  sectionEnteredAt: number | null;
  projectId: string | null;
  historyMode: ThreadHistoryMode;
  modelProvider: string;
  model: string | null;
  reasoningEffort: ReasoningEffort | null;
  createdAt: number;
  updatedAt: number;
  recencyAt: number | null;
  status: ThreadStatus;
  path: string | null;
  cwd: string;
  cliVersion: string;
  originator: string | null;
  source: SessionSource;
  /** @experimental */
  canAcceptDirectInput: boolean | null;
  threadSource: string | null;
  agentNickname: string | null;
  agentRole: string | null;
  gitInfo: GitInfo | null;
  name: string | null;
  /** @experimental */
  daybreakEnabled: boolean | null;
  turns: Turn[];
  note: string | null;
  savedAs: SavedPoint[];
  queue?: QueueState;
  spawnPoint: SpawnPoint | null;
  spawnConfig: SpawnConfig | null;
  keptReports?: ChildReport[];
  seq?: number;
}

export type ThreadActiveFlag = "waitingOnApproval" | "waitingOnUserInput";

/** Put a thread away, with everything it owns, closing what runs. Forks are nobody's and stay. */
export interface ThreadArchiveParams {
  threadId: string;
}

/** Done. */
export type ThreadArchiveResponse = Record<string, never>;

/** A thread was put away. Goes to every connection. */
export interface ThreadArchivedNotification {
  seq?: number;
  threadId: string;
}

/** A command that still runs. */
export interface ThreadBackgroundTerminal {
  itemId: string;
  processId: string;
  command: string;
  cwd: string;
  osPid: number | null;
  cpuPercent: number | null;
  rssKb: number | null;
}

/** End all of them. */
export interface ThreadBackgroundTerminalsCleanParams {
  threadId: string;
}

/** Done. */
export type ThreadBackgroundTerminalsCleanResponse = Record<string, never>;

/** List commands of a thread that still run though their call has returned. */
export interface ThreadBackgroundTerminalsListParams {
  threadId: string;
  cursor?: string | null;
  limit?: number | null;
}

/** A page of them. */
export interface ThreadBackgroundTerminalsListResponse {
  data: ThreadBackgroundTerminal[];
  nextCursor: string | null;
}

/** End one of them and everything it started. */
export interface ThreadBackgroundTerminalsTerminateParams {
  threadId: string;
  processId: string;
}

/** Whether there was something to end. */
export interface ThreadBackgroundTerminalsTerminateResponse {
  terminated: boolean;
}

/** Decide whether and how a child reports to its parent when a turn of it ends. Holds from the next end on. */
export interface ThreadCallbackSetParams {
  threadId: string;
  callbackConfig: CallbackConfig;
}

/** What holds from now on. */
export interface ThreadCallbackSetResponse {
  callbackConfig: CallbackConfig;
}

/**
 * Close a thread and everything it owns: sealed from the top, closed from the bottom.
 *
 * `grace` is how many seconds tasks may take to end by themselves (5 by default); the call returns within a second
 * of it, whatever is left. Closing twice is a success, and a close during a close joins it. With `dryRun` nothing
 * is touched: the answer has the same threads in the same order.
 */
export interface ThreadCloseParams {
  threadId: string;
  grace?: number | null;
  dryRun?: boolean;
}

/** Every thread of the subtree, once, in the order they ended: children before their parents. */
export interface ThreadCloseResponse {
  report: ClosedThread[];
}

/**
 * A thread left memory: unloaded for want of use, or closed. Goes to every connection.
 *
 * `by` is the thread on which the close was called, which is this one or an ancestor.
 */
export interface ThreadClosedNotification {
  seq?: number;
  threadId: string;
  reason?: ClosedReason;
  by?: string;
}

/** Condense what the model sees of a thread into a summary. Runs as a turn; the history itself keeps everything. */
export interface ThreadCompactStartParams {
  threadId: string;
}

/** Under way. */
export type ThreadCompactStartResponse = Record<string, never>;

/**
 * Delete a thread and everything it owns, closing what runs.
 *
 * A saved name or a fork that needs the history keeps it readable for itself; `purge` takes it from those too, also
 * later: from what is kept of a thread that was deleted before.
 */
export interface ThreadDeleteParams {
  threadId: string;
  purge?: boolean;
}

/** Done; `keptBy` says who still holds on to the history, if anyone does. */
export interface ThreadDeleteResponse {
  keptBy?: HistoryKeepers;
}

/** A thread is gone. Goes to every connection. */
export interface ThreadDeletedNotification {
  seq?: number;
  threadId: string;
}

/** An environment that a thread works in. */
export interface ThreadEnvironment {
  environmentId: string;
  cwd: string;
  runtimeWorkspaceRoots: string[];
}

/** Room for what an implementation wants to add. */
export type ThreadExtra = Record<string, never>;

/**
 * Begin a thread of its own from the history of another one.
 *
 * All of it, or up to the end of `lastTurnId`, or up to the start of `beforeTurnId`. The new thread is nobody's
 * child.
 */
export interface ThreadForkParams {
  threadId: string;
  /** @experimental */
  experimentalPredictionMode?: boolean;
  /** @experimental */
  experimentalDisablePredictionMcp?: boolean;
  lastTurnId?: string | null;
  /** @experimental */
  beforeTurnId?: string | null;
  /** @experimental */
  path?: string | null;
  model?: string | null;
  modelProvider?: string | null;
  serviceTier?: string | null;
  cwd?: string | null;
  /** @experimental */
  runtimeWorkspaceRoots?: string[] | null;
  approvalPolicy?: AskForApproval | null;
  approvalsReviewer?: ApprovalsReviewer | null;
  sandbox?: SandboxMode | null;
  /** @experimental */
  permissions?: string | null;
  config?: Record<string, unknown> | null;
  baseInstructions?: string | null;
  developerInstructions?: string | null;
  ephemeral?: boolean;
  /** @experimental */
  attachToSource?: boolean;
  threadSource?: string | null;
  excludeTurns?: boolean;
  /** @experimental */
  deferGoalContinuation?: boolean;
}

/** The new thread, and the settings that hold for its first turn. */
export interface ThreadForkResponse {
  thread: Thread;
  model: string;
  modelProvider: string;
  serviceTier: string | null;
  disabledPluginIds: string[];
  cwd: string;
  /** @experimental */
  runtimeWorkspaceRoots: string[];
  instructionSources: string[];
  approvalPolicy: AskForApproval;
  approvalsReviewer: ApprovalsReviewer;
  sandbox: SandboxPolicy;
  /** @experimental */
  activePermissionProfile: ActivePermissionProfile | null;
  reasoningEffort: ReasoningEffort | null;
  /** @experimental */
  multiAgentMode: MultiAgentMode;
}

/** This connection was too slow: it missed the events from `fromSeq` to `toSeq`. `thread/resume` brings them. */
export interface ThreadGapNotification {
  threadId: string;
  fromSeq: number;
  toSeq: number;
}

/** What a thread is after, and what that has taken so far. */
export interface ThreadGoal {
  threadId: string;
  objective: string;
  status: ThreadGoalStatus;
  tokenBudget: number | null;
  tokensUsed: number;
  timeUsedSeconds: number;
  createdAt: number;
  updatedAt: number;
}

/** Drop the goal of a thread. */
export interface ThreadGoalClearParams {
  threadId: string;
  origin?: ThreadGoalMutationOrigin | null;
}

/** Whether there was one. */
export interface ThreadGoalClearResponse {
  cleared: boolean;
}

/** The goal of a thread is dropped. */
export interface ThreadGoalClearedNotification {
  seq?: number;
  threadId: string;
}

/** Ask what a thread is after. */
export interface ThreadGoalGetParams {
  threadId: string;
}

/** The goal, or null. */
export interface ThreadGoalGetResponse {
  goal: ThreadGoal | null;
}

export type ThreadGoalMutationOrigin = "user" | "automatic";

/**
 * Set what a thread is after, or change the state or the budget of that. What is left out stays as it is.
 *
 * While a goal is `active`, turns follow one another by themselves, the first one after the answer to this. A turn
 * that is interrupted is followed by none until somebody speaks; one that fails leaves the goal `blocked`.
 */
export interface ThreadGoalSetParams {
  threadId: string;
  origin?: ThreadGoalMutationOrigin | null;
  objective?: string | null;
  status?: ThreadGoalStatus | null;
  tokenBudget?: number | null;
}

/** The goal as it now stands. */
export interface ThreadGoalSetResponse {
  goal: ThreadGoal;
}

export type ThreadGoalStatus = "active" | "paused" | "blocked" | "usageLimited" | "budgetLimited" | "complete";

/** The goal of a thread changed. */
export interface ThreadGoalUpdatedNotification {
  seq?: number;
  threadId: string;
  turnId: string | null;
  goal: ThreadGoal;
}

export type ThreadHistoryMode = "legacy" | "paginated";

/** Put raw model items into the history of a thread without starting a turn. They go to the model as they are. */
export interface ThreadInjectItemsParams {
  threadId: string;
  items: unknown[];
}

/** Done. */
export type ThreadInjectItemsResponse = Record<string, never>;

export type ThreadItem =
  | UserMessageThreadItem
  | HookPromptThreadItem
  | AgentMessageThreadItem
  | FunctionCallOutputThreadItem
  | PlanThreadItem
  | ReasoningThreadItem
  | CommandExecutionThreadItem
  | FileChangeThreadItem
  | McpToolCallThreadItem
  | DynamicToolCallThreadItem
  | CollabAgentToolCallThreadItem
  | SubAgentActivityThreadItem
  | WebSearchThreadItem
  | ImageViewThreadItem
  | SleepThreadItem
  | ImageGenerationThreadItem
  | EnteredReviewModeThreadItem
  | ExitedReviewModeThreadItem
  | ContextCompactionThreadItem;

/** An item and the turn it belongs to. */
export interface ThreadItemEntry {
  turnId: string;
  item: ThreadItem;
  startedAtMs: number | null;
  completedAtMs: number | null;
}

/** Begin beside this item, without it. */
export interface ThreadItemsListAnchor {
  type: "item";
  itemId: string;
}

export type ThreadItemsListCursor =
  | string
  | ThreadItemsListAnchor;

/** Read the items of a thread, or of one turn, page by page, the oldest first unless told otherwise. */
export interface ThreadItemsListParams {
  threadId: string;
  turnId?: string | null;
  cursor?: ThreadItemsListCursor | null;
  limit?: number | null;
  sortDirection?: SortDirection | null;
}

/** A page of items; `backwardsCursor` leads the other way. */
export interface ThreadItemsListResponse {
  data: ThreadItemEntry[];
  nextCursor: string | null;
  backwardsCursor: string | null;
}

export type ThreadListCwdFilter =
  | string
  | string[];

/**
 * List threads that are stored, page by page, the newest first unless told otherwise.
 *
 * Without `sourceKinds`, those that a person started. In a list of such, one that was opened and left, with no turn
 * and no name, does not appear. `parentThreadId` asks for children, `ancestorThreadId` for descendants at any depth.
 * `searchTerm` looks at titles and names; for everything said use `thread/search`.
 */
export interface ThreadListParams {
  cursor?: string | null;
  limit?: number | null;
  excludedThreadIds?: string[] | null;
  sortKey?: ThreadSortKey | null;
  sortDirection?: SortDirection | null;
  modelProviders?: string[] | null;
  sourceKinds?: ThreadSourceKind[] | null;
  originators?: string[] | null;
  archived?: boolean | null;
  sectionId?: string | null;
  /** @experimental */
  projectId?: string | null;
  cwd?: ThreadListCwdFilter | null;
  useStateDbOnly?: boolean;
  searchTerm?: string | null;
  /** @experimental */
  parentThreadId?: string | null;
  /** @experimental */
  ancestorThreadId?: string | null;
  /** @experimental */
  attachedToThreadId?: string | null;
}

/** A page of threads, without their turns; `backwardsCursor` leads the other way. */
export interface ThreadListResponse {
  data: Thread[];
  /** @experimental */
  readStates: Record<string, ThreadReadState> | null;
  nextCursor: string | null;
  backwardsCursor: string | null;
}

/** List the ids of threads that are in memory. */
export interface ThreadLoadedListParams {
  cursor?: string | null;
  limit?: number | null;
}

/** A page of ids. */
export interface ThreadLoadedListResponse {
  data: string[];
  nextCursor: string | null;
}

/** Git facts to change: left out stays, null clears. */
export interface ThreadMetadataGitInfoUpdateParams {
  sha?: string | null;
  branch?: string | null;
  originUrl?: string | null;
}

/** Change what is kept about a thread beside its conversation. */
export interface ThreadMetadataUpdateParams {
  threadId: string;
  /** @experimental */
  projectId?: string | null;
  gitInfo?: ThreadMetadataGitInfoUpdateParams | null;
  /** @experimental */
  daybreakEnabled?: boolean | null;
}

/** The thread as it now is. */
export interface ThreadMetadataUpdateResponse {
  thread: Thread;
}

/** A thread has another name. Goes to every connection. */
export interface ThreadNameUpdatedNotification {
  seq?: number;
  threadId: string;
  threadName: string | null;
}

/** The note of a thread changed. Goes to every connection. */
export interface ThreadNoteUpdatedNotification {
  seq?: number;
  threadId: string;
  note: string | null;
}

/**
 * Put a prompt at the end of the queue of a thread; it runs when its time has come, also after a restart.
 *
 * The same `clientUserMessageId` again gets the first answer again. At most 100 prompts wait at a time.
 */
export interface ThreadQueueAddParams {
  threadId: string;
  input: UserInput[];
  clientUserMessageId: string;
}

/** The entry. */
export interface ThreadQueueAddResponse {
  queuedSubmission: QueuedSubmission;
}

/** The queue of a thread is not what it was; list it if it matters. */
export interface ThreadQueueChangedNotification {
  seq?: number;
  threadId: string;
}

/** Take an entry out. */
export interface ThreadQueueDeleteParams {
  threadId: string;
  queuedSubmissionId: string;
}

/** Whether it was still there. */
export interface ThreadQueueDeleteResponse {
  deleted: boolean;
}

/** List what waits for a thread, in order. */
export interface ThreadQueueListParams {
  threadId: string;
  cursor?: string | null;
  limit?: number | null;
}

/** A page of entries. */
export interface ThreadQueueListResponse {
  data: QueuedSubmission[];
  nextCursor: string | null;
}

/** Hold the queue of a thread: entries may come, none starts a turn until `thread/queue/resume`. */
export interface ThreadQueuePauseParams {
  threadId: string;
}

/** The queue as it stands now. */
export interface ThreadQueuePauseResponse {
  queue: QueueState;
}

/** Put the queue into this order. Names every entry once. */
export interface ThreadQueueReorderParams {
  threadId: string;
  queuedSubmissionIds: string[];
}

/** Done. */
export type ThreadQueueReorderResponse = Record<string, never>;

/** Let the queue of a thread run again, whoever or whatever paused it. */
export interface ThreadQueueResumeParams {
  threadId: string;
}

/** The queue as it stands now. */
export interface ThreadQueueResumeResponse {
  queue: QueueState;
}

/** Start a turn from an entry now, the first one unless another is named. Refused while a turn runs. */
export interface ThreadQueueStartParams {
  threadId: string;
  queuedSubmissionId?: string | null;
}

/** The turn. */
export interface ThreadQueueStartResponse {
  turn: Turn;
}

/** Change the text of a prompt that waits. */
export interface ThreadQueueUpdateParams {
  threadId: string;
  queuedSubmissionId: string;
  input: UserInput[];
}

/** The entry as it now is. */
export interface ThreadQueueUpdateResponse {
  queuedSubmission: QueuedSubmission;
}

/** Read a thread without loading it or subscribing to it; `includeTurns` adds its turns. */
export interface ThreadReadParams {
  threadId: string;
  includeTurns?: boolean;
}

/** The thread as it is stored and as it stands. */
export interface ThreadReadResponse {
  thread: Thread;
  /** @experimental */
  readState: ThreadReadState | null;
}

/** How far a person has read. */
export interface ThreadReadState {
  firstUnread: ThreadUnreadPosition | null;
  revision: string;
}

/** Which page of turns should come with the answer. */
export interface ThreadResumeInitialTurnsPageParams {
  limit?: number | null;
  sortDirection?: SortDirection | null;
  itemsView?: TurnItemsView | null;
}

/**
 * Go on with a thread, or subscribe to one that runs.
 *
 * With `sinceSeq` the notifications that were missed follow the answer, each with its own `seq`, then pending
 * requests, then live ones: no gap, nothing twice. `descendants` does the same for owned threads by their ids,
 * and one that was born since and is not named there is heard from its birth; `false` leaves them out. Settings,
 * instructions and configuration in it hold from the next turn on.
 */
export interface ThreadResumeParams {
  threadId: string;
  /** @experimental */
  history?: unknown[] | null;
  /** @experimental */
  path?: string | null;
  model?: string | null;
  modelProvider?: string | null;
  serviceTier?: string | null;
  cwd?: string | null;
  /** @experimental */
  runtimeWorkspaceRoots?: string[] | null;
  approvalPolicy?: AskForApproval | null;
  approvalsReviewer?: ApprovalsReviewer | null;
  sandbox?: SandboxMode | null;
  /** @experimental */
  permissions?: string | null;
  config?: Record<string, unknown> | null;
  baseInstructions?: string | null;
  developerInstructions?: string | null;
  personality?: Personality | null;
  excludeTurns?: boolean;
  /** @experimental */
  initialTurnsPage?: ThreadResumeInitialTurnsPageParams | null;
  sinceSeq?: number | null;
  descendants?: boolean | Record<string, number> | null;
}

/**
 * The thread, its settings, and `seq`.
 *
 * How far the answer reaches. `truncated`: too much was missed to be sent again, start from this snapshot.
 */
export interface ThreadResumeResponse {
  thread: Thread;
  model: string;
  modelProvider: string;
  serviceTier: string | null;
  disabledPluginIds: string[];
  cwd: string;
  /** @experimental */
  runtimeWorkspaceRoots: string[];
  instructionSources: string[];
  approvalPolicy: AskForApproval;
  approvalsReviewer: ApprovalsReviewer;
  sandbox: SandboxPolicy;
  /** @experimental */
  activePermissionProfile: ActivePermissionProfile | null;
  reasoningEffort: ReasoningEffort | null;
  collaborationMode: CollaborationMode | null;
  /** @experimental */
  multiAgentMode: MultiAgentMode;
  /** @experimental */
  initialTurnsPage: TurnsPage | null;
  turnsBackwardsCursor: string | null;
  itemsBackwardsCursor: string | null;
  seq?: number;
  truncated?: boolean;
}

/** Take a turn and all later ones out of the history of a thread. Files stay as they are. */
export interface ThreadRevertParams {
  threadId: string;
  beforeTurnId: string;
}

/** The thread as it now is, with cursors to what is left. */
export interface ThreadRevertResponse {
  thread: Thread;
  turnsBackwardsCursor: string | null;
  itemsBackwardsCursor: string | null;
}

/** The end of the history of a thread was taken back; read it anew. */
export interface ThreadRevertedNotification {
  seq?: number;
  threadId: string;
}

/** One place, and how to read the turns around it. */
export interface ThreadSearchOccurrence {
  turnId: string;
  itemId: string;
  snippet: string;
  snippetMatchRange: ThreadSearchTextRange;
  turnCursor: string;
}

/** Find every place in one thread where something was said, letter by letter, in whatever case. */
export interface ThreadSearchOccurrencesParams {
  threadId: string;
  searchTerm: string;
  cursor?: string | null;
  limit?: number | null;
}

/** A page of places. */
export interface ThreadSearchOccurrencesResponse {
  data: ThreadSearchOccurrence[];
  nextCursor: string | null;
}

/** Find threads by what was said in them: these words, one behind the other. The last may be a beginning. */
export interface ThreadSearchParams {
  cursor?: string | null;
  limit?: number | null;
  sortKey?: ThreadSearchSortKey | null;
  sortDirection?: SortDirection | null;
  sourceKinds?: ThreadSourceKind[] | null;
  archived?: boolean | null;
  searchTerm: string;
}

/** A page of matches; `backwardsCursor` leads the other way. */
export interface ThreadSearchResponse {
  data: ThreadSearchResult[];
  nextCursor: string | null;
  backwardsCursor: string | null;
}

/** A thread, and the words around a match. */
export interface ThreadSearchResult {
  thread: Thread;
  snippet: string;
}

export type ThreadSearchSortKey = "created_at" | "updated_at" | "recency_at";

/** Where in a snippet the match is, in UTF-16 code units. */
export interface ThreadSearchTextRange {
  start: number;
  end: number;
}

/** A section that threads are sorted into. */
export interface ThreadSection {
  id: string;
  name: string;
  appearance: ThreadSectionAppearance | null;
}

/** How a section looks. */
export interface ThreadSectionAppearance {
  icon: string | null;
  color: string | null;
}

/** List sections that threads are sorted into. */
export interface ThreadSectionListParams {
  cursor?: string | null;
  limit?: number | null;
}

/** A page of sections. */
export interface ThreadSectionListResponse {
  data: ThreadSection[];
  nextCursor: string | null;
}

/** Give a thread a name that people will read. */
export interface ThreadSetNameParams {
  threadId: string;
  name: string;
}

/** Done. */
export type ThreadSetNameResponse = Record<string, never>;

/** Set the note of a thread; blank clears it. At most 500 characters. The model never sees it. */
export interface ThreadSetNoteParams {
  threadId: string;
  note: string;
}

/** The note as it is kept: trimmed, or null if there is none. */
export interface ThreadSetNoteResponse {
  note: string | null;
}

/** What the next turn starts from. */
export interface ThreadSettings {
  disabledPluginIds: string[];
  cwd: string;
  approvalPolicy: AskForApproval;
  approvalsReviewer: ApprovalsReviewer;
  sandboxPolicy: SandboxPolicy;
  activePermissionProfile: ActivePermissionProfile | null;
  model: string;
  modelProvider: string;
  serviceTier: string | null;
  effort: ReasoningEffort | null;
  summary: ReasoningSummary | null;
  collaborationMode: CollaborationMode;
  /** @experimental */
  multiAgentMode: MultiAgentMode;
  personality: Personality | null;
}

/**
 * Change what later turns of a thread start from.
 *
 * What is left out stays; null for `serviceTier` takes it back to the default.
 */
export interface ThreadSettingsUpdateParams {
  threadId: string;
  disabledPluginIds?: string[] | null;
  cwd?: string | null;
  approvalPolicy?: AskForApproval | null;
  approvalsReviewer?: ApprovalsReviewer | null;
  sandboxPolicy?: SandboxPolicy | null;
  permissions?: string | null;
  model?: string | null;
  serviceTier?: string | null;
  effort?: ReasoningEffort | null;
  summary?: ReasoningSummary | null;
  collaborationMode?: CollaborationMode | null;
  multiAgentMode?: MultiAgentMode | null;
  personality?: Personality | null;
}

/** Taken; `thread/settings/updated` has the result. */
export type ThreadSettingsUpdateResponse = Record<string, never>;

/** Later turns start from these settings. */
export interface ThreadSettingsUpdatedNotification {
  seq?: number;
  threadId: string;
  threadSettings: ThreadSettings;
}

/**
 * Run the person's own command line in a thread, through a shell and outside the sandbox.
 *
 * The model sees command and output.
 */
export interface ThreadShellCommandParams {
  threadId: string;
  command: string;
  timeoutMs?: number | null;
}

/** Under way; the item tells the rest. */
export type ThreadShellCommandResponse = Record<string, never>;

export type ThreadSortKey = "created_at" | "updated_at" | "recency_at" | "section_position";

export type ThreadSourceKind = "cli" | "vscode" | "exec" | "appServer" | "subAgent" | "subAgentReview" | "subAgentCompact" | "subAgentThreadSpawn" | "subAgentOther" | "unknown";

/** An agent that another thread spawned. */
export interface ThreadSpawn {
  parent_thread_id: string;
  depth: number;
  agent_path: string | null;
  agent_nickname: string | null;
  agent_role: string | null;
}

/** Spawned as an agent. */
export interface ThreadSpawnSubAgentSource {
  thread_spawn: ThreadSpawn;
}

/**
 * Begin a thread. What is left out comes from the configuration of its directory.
 *
 * The connection is subscribed to it and to every thread it will own. An `ephemeral` thread leaves nothing on disk.
 * `config` overrides keys of the configuration for this thread alone.
 */
export interface ThreadStartParams {
  model?: string | null;
  modelProvider?: string | null;
  /** @experimental */
  allowProviderModelFallback?: boolean;
  serviceTier?: string | null;
  cwd?: string | null;
  /** @experimental */
  runtimeWorkspaceRoots?: string[] | null;
  approvalPolicy?: AskForApproval | null;
  approvalsReviewer?: ApprovalsReviewer | null;
  sandbox?: SandboxMode | null;
  /** @experimental */
  permissions?: string | null;
  config?: Record<string, unknown> | null;
  serviceName?: string | null;
  baseInstructions?: string | null;
  developerInstructions?: string | null;
  personality?: Personality | null;
  /** @experimental */
  multiAgentMode?: MultiAgentMode | null;
  ephemeral?: boolean | null;
  /** @experimental */
  historyMode?: ThreadHistoryMode | null;
  sessionStartSource?: ThreadStartSource | null;
  threadSource?: string | null;
  /** @experimental */
  projectId?: string | null;
  /** @experimental */
  daybreakEnabled?: boolean | null;
  /** @experimental */
  environments?: TurnEnvironmentParams[] | null;
  /** @experimental */
  dynamicTools?: DynamicToolSpec[] | null;
  /** @experimental */
  selectedCapabilityRoots?: SelectedCapabilityRoot[] | null;
  /** @experimental */
  mockExperimentalField?: string | null;
  /** @experimental */
  experimentalRawEvents?: boolean;
}

/** The thread, and the settings that hold for its first turn. */
export interface ThreadStartResponse {
  thread: Thread;
  model: string;
  modelProvider: string;
  serviceTier: string | null;
  disabledPluginIds: string[];
  cwd: string;
  /** @experimental */
  runtimeWorkspaceRoots: string[];
  instructionSources: string[];
  approvalPolicy: AskForApproval;
  approvalsReviewer: ApprovalsReviewer;
  sandbox: SandboxPolicy;
  /** @experimental */
  activePermissionProfile: ActivePermissionProfile | null;
  reasoningEffort: ReasoningEffort | null;
  /** @experimental */
  multiAgentMode: MultiAgentMode;
}

export type ThreadStartSource = "startup" | "clear";

/** Nothing was read yet. */
export interface ThreadStartThreadUnreadPosition {
  type: "threadStart";
}

/** A thread began, whoever began it. Goes to every connection. */
export interface ThreadStartedNotification {
  seq?: number;
  thread: Thread;
}

export type ThreadStatus =
  | NotLoadedThreadStatus
  | IdleThreadStatus
  | SystemErrorThreadStatus
  | ActiveThreadStatus;

/** A thread got busy, came to rest, or waits for somebody. Goes to every connection. */
export interface ThreadStatusChangedNotification {
  seq?: number;
  threadId: string;
  status: ThreadStatus;
}

/** The last call to the model, and all of them. */
export interface ThreadTokenUsage {
  total: TokenUsageBreakdown;
  last: TokenUsageBreakdown;
  modelContextWindow: number | null;
}

/** What a thread has used so far. */
export interface ThreadTokenUsageUpdatedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  tokenUsage: ThreadTokenUsage;
}

/** Something in a tree changed: nodes that are new or different, and ids of those that left it. */
export interface ThreadTreeChangedNotification {
  rootThreadId: string;
  changed: ThreadTreeNode[];
  removed: string[];
}

/**
 * One thread of a tree, as a tree view shows it, and where it comes from.
 *
 * `parentThreadId` is who spawned it, also where that has gone without it: the root of a tree has `depth` 0.
 * `keptReports` are those of its own that nobody is there to take.
 */
export interface ThreadTreeNode {
  threadId: string;
  parentThreadId: string | null;
  depth: number;
  name: string | null;
  note: string | null;
  agentRole: string | null;
  agentNickname: string | null;
  status: CollabAgentStatus;
  statusAt: number;
  activity: string | null;
  model: string | null;
  totalTokens: number;
  queueLength: number;
  spawnPoint: SpawnPoint | null;
  spawnConfig: SpawnConfig | null;
  forkedFromId: string | null;
  keptReports?: ChildReport[];
}

/**
 * Read the whole tree that a thread belongs to in one answer.
 *
 * With `subscribe`, `thread/tree/changed` follows for as long as the connection lasts, or until it unsubscribes
 * from the root.
 */
export interface ThreadTreeParams {
  threadId: string;
  subscribe?: boolean;
}

/** The tree by its root, parents before their children. */
export interface ThreadTreeResponse {
  rootThreadId: string;
  data: ThreadTreeNode[];
}

/**
 * Read the turns of a thread page by page, the latest first unless told otherwise.
 *
 * `itemsView` says how much of each.
 */
export interface ThreadTurnsListParams {
  threadId: string;
  cursor?: string | null;
  limit?: number | null;
  sortDirection?: SortDirection | null;
  itemsView?: TurnItemsView | null;
}

/** A page of turns; `backwardsCursor` leads the other way. */
export interface ThreadTurnsListResponse {
  data: Turn[];
  nextCursor: string | null;
  backwardsCursor: string | null;
}

/** Take a thread out of the archive again, with what was put away together with it. */
export interface ThreadUnarchiveParams {
  threadId: string;
}

/** The thread. */
export interface ThreadUnarchiveResponse {
  thread: Thread;
}

/** A thread was taken out again. Goes to every connection. */
export interface ThreadUnarchivedNotification {
  seq?: number;
  threadId: string;
}

export type ThreadUnreadPosition =
  | ThreadStartThreadUnreadPosition
  | TurnThreadUnreadPosition;

/** Hear no more of a thread on this connection. It goes on running. */
export interface ThreadUnsubscribeParams {
  threadId: string;
}

/** Whether there was something to end. */
export interface ThreadUnsubscribeResponse {
  status: ThreadUnsubscribeStatus;
}

export type ThreadUnsubscribeStatus = "notLoaded" | "notSubscribed" | "unsubscribed";

/** The directory for temporary files. */
export interface TmpdirFileSystemSpecialPath {
  kind: "tmpdir";
}

/** Tokens, by what they were used for. */
export interface TokenUsageBreakdown {
  totalTokens: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  outputTokens: number;
  reasoningOutputTokens: number;
}

/** A tool of a server. */
export interface Tool {
  name: string;
  title: string | null;
  description: string | null;
  inputSchema: unknown;
  outputSchema: unknown;
  annotations: unknown;
  icons: unknown[] | null;
  _meta: unknown;
}

/** What was chosen or typed. */
export interface ToolRequestUserInputAnswer {
  answers: string[];
}

/** One of the answers on offer. */
export interface ToolRequestUserInputOption {
  label: string;
  description: string;
}

/**
 * Put questions to the person.
 *
 * `origin` is the chain of threads that they came up through, from the one that asks to its root.
 */
export interface ToolRequestUserInputParams {
  threadId: string;
  turnId: string;
  itemId: string;
  questions: ToolRequestUserInputQuestion[];
  isBlocking: boolean;
  autoResolutionMs: number | null;
  origin?: string[];
}

/** One question. `isOther` allows an answer beyond the options, `isSecret` hides what is typed. */
export interface ToolRequestUserInputQuestion {
  id: string;
  header: string;
  question: string;
  isOther: boolean;
  isSecret: boolean;
  options: ToolRequestUserInputOption[] | null;
}

/** The answers, by the id of their question. */
export interface ToolRequestUserInputResponse {
  answers: Record<string, ToolRequestUserInputAnswer>;
}

/** `[tools]`. */
export interface ToolsV2 {
  web_search: WebSearchToolConfig | null;
}

/** A turn. `itemsView` says how much of `items` is there. */
export interface Turn {
  id: string;
  rootTurnId: string | null;
  items: ThreadItem[];
  itemsView: TurnItemsView;
  status: TurnStatus;
  error: TurnError | null;
  startedAt: number | null;
  completedAt: number | null;
  durationMs: number | null;
}

/** A turn ended: completed, interrupted or failed. Nothing of it follows. */
export interface TurnCompletedNotification {
  seq?: number;
  threadId: string;
  turn: Turn;
}

/** All that this turn changed in files, as one unified diff. */
export interface TurnDiffUpdatedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  diff: string;
}

/** An environment to work in. */
export interface TurnEnvironmentParams {
  environmentId: string;
  cwd: string;
  runtimeWorkspaceRoots?: string[] | null;
}

/** Why a turn failed, in words and for programs. */
export interface TurnError {
  message: string;
  codexErrorInfo: CodexErrorInfo | null;
  additionalDetails: string | null;
  misalignment: MisalignmentErrorDetails | null;
}

/**
 * End the running turn; what it has said so far stays.
 *
 * The agents that the thread owns go on, unless `cascade` ends their turns too. Sub-sessions always end with it.
 */
export interface TurnInterruptParams {
  threadId: string;
  turnId: string;
  cascade?: boolean;
}

/** It is ended. */
export type TurnInterruptResponse = Record<string, never>;

export type TurnItemsView = "notLoaded" | "summary" | "full";

/** A step of a plan. */
export interface TurnPlanStep {
  step: string;
  status: TurnPlanStepStatus;
}

export type TurnPlanStepStatus = "pending" | "inProgress" | "completed";

/** The agent wrote down its plan, or moved on in it. */
export interface TurnPlanUpdatedNotification {
  seq?: number;
  threadId: string;
  turnId: string;
  explanation: string | null;
  plan: TurnPlanStep[];
}

/**
 * Say something, and have it answered. Settings in it hold for this turn and later ones.
 *
 * On a busy thread the input joins the running turn, whose id is returned. The same `clientUserMessageId` again
 * gets the first answer again. `outputSchema` is a JSON Schema for the final message of this turn alone.
 */
export interface TurnStartParams {
  threadId: string;
  disabledPluginIds?: string[] | null;
  clientUserMessageId?: string | null;
  input: UserInput[];
  turnTrigger?: string | null;
  parentTurnId?: string | null;
  rootTurnId?: string | null;
  toolOutput?: TurnToolOutput | null;
  /** @experimental */
  responsesapiClientMetadata?: Record<string, string> | null;
  /** @experimental */
  responsesapiClientMetadataPatch?: Record<string, string> | null;
  /** @experimental */
  additionalContext?: Record<string, AdditionalContextEntry> | null;
  /** @experimental */
  environments?: TurnEnvironmentParams[] | null;
  cwd?: string | null;
  /** @experimental */
  runtimeWorkspaceRoots?: string[] | null;
  approvalPolicy?: AskForApproval | null;
  approvalsReviewer?: ApprovalsReviewer | null;
  sandboxPolicy?: SandboxPolicy | null;
  /** @experimental */
  permissions?: string | null;
  model?: string | null;
  serviceTier?: string | null;
  serviceTierForTurn?: string | null;
  effort?: ReasoningEffort | null;
  summary?: ReasoningSummary | null;
  personality?: Personality | null;
  outputSchema?: unknown;
  /** @experimental */
  collaborationMode?: CollaborationMode | null;
  /** @experimental */
  multiAgentMode?: MultiAgentMode | null;
  /** @experimental */
  cyberAccessProgram?: CyberAccessProgram | null;
}

/** The turn, in progress. */
export interface TurnStartResponse {
  turn: Turn;
}

/** A turn began. */
export interface TurnStartedNotification {
  seq?: number;
  threadId: string;
  turn: Turn;
}

export type TurnStatus = "completed" | "interrupted" | "failed" | "inProgress";

/** Add input to the running turn; refused if that is not the expected one. */
export interface TurnSteerParams {
  threadId: string;
  clientUserMessageId?: string | null;
  input: UserInput[];
  /** @experimental */
  responsesapiClientMetadata?: Record<string, string> | null;
  /** @experimental */
  responsesapiClientMetadataPatch?: Record<string, string> | null;
  /** @experimental */
  additionalContext?: Record<string, AdditionalContextEntry> | null;
  expectedTurnId: string;
}

/** The turn that took it. */
export interface TurnSteerResponse {
  turnId: string;
}

/** Unread from this turn on. */
export interface TurnThreadUnreadPosition {
  type: "turn";
  turnId: string;
}

/** The result of a tool, given to the model as input. */
export interface TurnToolOutput {
  name: string;
  namespace?: string | null;
  output: FunctionCallOutputBody;
  retain?: boolean;
}

/** A page of turns; `backwardsCursor` leads the other way. */
export interface TurnsPage {
  data: Turn[];
  nextCursor: string | null;
  backwardsCursor: string | null;
}

/** Whatever is not committed yet. */
export interface UncommittedChangesReviewTarget {
  type: "uncommittedChanges";
}

/** What the command does is not known. */
export interface UnknownCommandAction {
  type: "unknown";
  command: string;
}

/** A place that this version does not know. */
export interface UnknownFileSystemSpecialPath {
  kind: "unknown";
  subpath: string | null;
  path: string;
}

/** A file that changes, and moves if a path is given. */
export interface UpdatePatchChangeKind {
  type: "update";
  move_path: string | null;
}

/** The file of the user. */
export interface UserConfigLayerSource {
  type: "user";
  file: string;
  profile: string | null;
}

export type UserInput =
  | TextUserInput
  | ImageUserInput
  | LocalImageUserInput
  | AudioUserInput
  | LocalAudioUserInput
  | SkillUserInput
  | MentionUserInput;

/** What the person said; with `report`, what a child reported in their place. */
export interface UserMessageThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "userMessage";
  id: string;
  clientId: string | null;
  content: UserInput[];
  report?: ChildReport;
}

export type Verbosity = "low" | "medium" | "high";

/** Something a person should know; of a thread, if one is named. */
export interface WarningNotification {
  threadId: string | null;
  message: string;
}

export type WebSearchAction =
  | SearchWebSearchAction
  | OpenPageWebSearchAction
  | FindInPageWebSearchAction
  | OtherWebSearchAction;

export type WebSearchContextSize = "low" | "medium" | "high";

/** Where a search pretends to be. */
export interface WebSearchLocation {
  country: string | null;
  region: string | null;
  city: string | null;
  timezone: string | null;
}

export type WebSearchMode = "disabled" | "cached" | "indexed" | "live";

/** A search on the web. */
export interface WebSearchThreadItem {
  startedAtMs: number | null;
  completedAtMs: number | null;
  type: "webSearch";
  id: string;
  action: WebSearchAction | null;
  query: string;
  results: unknown[] | null;
}

/** How the web is searched. */
export interface WebSearchToolConfig {
  context_size: WebSearchContextSize | null;
  allowed_domains: string[] | null;
  location: WebSearchLocation | null;
}

export type WindowsSandboxImplementation = "elevated" | "unelevated" | "mxc";

/** Where requests of a ChatGPT workspace go. */
export interface WorkspaceRouting {
  chatgptAccountId: string;
  backendOrigin: string;
  accountRoutingOverride: AccountRoutingOverride;
}

/** Write in the working directory, the extra roots and temporary files. */
export interface WorkspaceWriteSandboxPolicy {
  type: "workspaceWrite";
  networkAccess?: boolean;
  writableRoots?: string[];
  excludeTmpdirEnvVar?: boolean;
  excludeSlashTmp?: boolean;
}

export type WriteStatus = "ok" | "okOverridden";

/** Input to a running command. */
export interface WriteStdinGuardianApprovalReviewAction {
  type: "writeStdin";
  cwd: string;
  approvalId: string;
  processId: string;
  stdin: string;
}

/** Every request of clients, with what it carries and what answers it. */
export interface Methods {
  /** Give up a login that has not ended yet. */
  "account/login/cancel": { params: CancelLoginAccountParams; result: CancelLoginAccountResponse };
  /**
   * Log in, in one of several ways.
   *
   * `type` says which. A key or ready-made tokens hold at once, the other ways end with `account/login/completed`.
   */
  "account/login/start": { params: LoginAccountParams; result: LoginAccountResponse };
  /** Forget the key or the tokens of this home. Threads that run keep what they started with. */
  "account/logout": { params: LogoutAccountParams; result: LogoutAccountResponse };
  /** Ask which account is in use, and whether one is needed. `refreshToken` renews its tokens first. */
  "account/read": { params: GetAccountParams; result: GetAccountResponse };
  /** List the agents that a thread owns. Those at rest count, for they take input; `includeClosed` adds the others. */
  "agent/active": { params: AgentActiveParams; result: AgentActiveResponse };
  /**
   * List the kinds of agents that can be spawned from a directory (the server's own by default).
   *
   * `agentType` asks for one kind; `expanded` adds the prompts.
   */
  "agent/list": { params: AgentListParams; result: AgentListResponse };
  /**
   * Say something to an agent: joins its running turn, or starts one if it is at rest.
   *
   * With `interrupt` the running turn ends first. The same `clientUserMessageId` again gets the first answer again.
   */
  "agent/sendInput": { params: AgentSendInputParams; result: AgentSendInputResponse };
  /**
   * Spawn an agent that a thread will own, and give it its first input.
   *
   * What is left out comes from the persona, then from the template, then from the parent. A child has never more
   * rights than its parent. Without `note` it gets one that says what it is.
   */
  "agent/spawn": { params: AgentSpawnParams; result: AgentSpawnResponse };
  /** List apps that are connected. */
  "app/installed": { params: AppsInstalledParams; result: AppsInstalledResponse };
  /** List apps that could be connected. */
  "app/list": { params: AppsListParams; result: AppsListResponse };
  /**
   * List presets of model, effort and instructions.
   * @experimental
   */
  "collaborationMode/list": { params: CollaborationModeListParams; result: CollaborationModeListResponse };
  /**
   * Run a command in the sandbox, without a thread.
   *
   * The answer comes when the process has ended. `command` is a list of arguments, no shell in between. With a
   * `processId` of the client's choosing it can be written to, resized and ended meanwhile; `tty`, `streamStdin` and
   * `streamStdoutStderr` need one. What was streamed is not repeated in the answer. A null in `env` unsets a
   * variable.
   */
  "command/exec": { params: CommandExecParams; result: CommandExecResponse };
  /** Change the size of the terminal of a running `command/exec`. */
  "command/exec/resize": { params: CommandExecResizeParams; result: CommandExecResizeResponse };
  /** End a running `command/exec` and everything it started. */
  "command/exec/terminate": { params: CommandExecTerminateParams; result: CommandExecTerminateResponse };
  /** Write to the standard input of a running `command/exec`, close it, or both. */
  "command/exec/write": { params: CommandExecWriteParams; result: CommandExecWriteResponse };
  /** Write several values at once, or none of them. `reloadUserConfig` hands them on to threads that are loaded. */
  "config/batchWrite": { params: ConfigBatchWriteParams; result: ConfigWriteResponse };
  /**
   * Read the configuration in force for a directory, with the origin of every key.
   *
   * `includeLayers` adds each layer by itself.
   */
  "config/read": { params: ConfigReadParams; result: ConfigReadResponse };
  /** Write one value to a configuration file. `expectedVersion` guards against a change in between. */
  "config/value/write": { params: ConfigValueWriteParams; result: ConfigWriteResponse };
  /** Ask what an administrator prescribes. Nothing is managed here, so the answer is always null. */
  "configRequirements/read": { params: ConfigRequirementsReadParams; result: ConfigRequirementsReadResponse };
  /** List features that can be switched on. */
  "experimentalFeature/list": { params: ExperimentalFeatureListParams; result: ExperimentalFeatureListResponse };
  /** Copy a file; a directory only with `recursive`. */
  "fs/copy": { params: FsCopyParams; result: FsCopyResponse };
  /** Make a directory, and those above it unless `recursive` is false. */
  "fs/createDirectory": { params: FsCreateDirectoryParams; result: FsCreateDirectoryResponse };
  /** Ask what is at a path. */
  "fs/getMetadata": { params: FsGetMetadataParams; result: FsGetMetadataResponse };
  /** List a directory. */
  "fs/readDirectory": { params: FsReadDirectoryParams; result: FsReadDirectoryResponse };
  /** Read a file whole. */
  "fs/readFile": { params: FsReadFileParams; result: FsReadFileResponse };
  /**
   * Remove a file, or a directory with everything in it.
   *
   * `recursive: false` spares a directory that is not empty; `force: false` makes a missing path an error.
   */
  "fs/remove": { params: FsRemoveParams; result: FsRemoveResponse };
  /** Stop watching. */
  "fs/unwatch": { params: FsUnwatchParams; result: FsUnwatchResponse };
  /** Watch a file or a directory, under a name that the client chooses for this connection. */
  "fs/watch": { params: FsWatchParams; result: FsWatchResponse };
  /** Write a file whole, making it or replacing it. */
  "fs/writeFile": { params: FsWriteFileParams; result: FsWriteFileResponse };
  /** List hooks by directory. */
  "hooks/list": { params: HooksListParams; result: HooksListResponse };
  /** Open the conversation. Must be the first request of a connection, and come once; `initialized` follows it. */
  "initialize": { params: InitializeParams; result: InitializeResponse };
  /** List MCP servers, how they fare and what they offer. */
  "mcpServerStatus/list": { params: ListMcpServerStatusParams; result: ListMcpServerStatusResponse };
  /**
   * List the models that can be chosen, the default one marked.
   *
   * `includeHidden` adds those a picker would leave out.
   */
  "model/list": { params: ModelListParams; result: ModelListResponse };
  /** List named sets of permissions: those that `permissions` may name. They hold in every directory. */
  "permissionProfile/list": { params: PermissionProfileListParams; result: PermissionProfileListResponse };
  /** List plugins that are installed. */
  "plugin/installed": { params: PluginInstalledParams; result: PluginInstalledResponse };
  /** List plugins by marketplace. */
  "plugin/list": { params: PluginListParams; result: PluginListResponse };
  /**
   * End a process and everything it started.
   * @experimental
   */
  "process/kill": { params: ProcessKillParams; result: ProcessKillResponse };
  /**
   * Change the size of the terminal of a process.
   * @experimental
   */
  "process/resizePty": { params: ProcessResizePtyParams; result: ProcessResizePtyResponse };
  /**
   * Start a process on the machine of the server, without a thread and without a sandbox.
   *
   * The answer comes as soon as it runs; `process/exited` says how it ended. It is known by the handle that the
   * client chose, on this connection only. A null in `env` unsets a variable; a null `timeoutMs` or `outputBytesCap`
   * means none.
   * @experimental
   */
  "process/spawn": { params: ProcessSpawnParams; result: ProcessSpawnResponse };
  /**
   * Write to the standard input of a process, close it, or both.
   * @experimental
   */
  "process/writeStdin": { params: ProcessWriteStdinParams; result: ProcessWriteStdinResponse };
  /**
   * List projects that threads belong to.
   * @experimental
   */
  "project/list": { params: ProjectListParams; result: ProjectListResponse };
  /** Have code reviewed, as a turn of this thread between `enteredReviewMode` and `exitedReviewMode`. */
  "review/start": { params: ReviewStartParams; result: ReviewStartResponse };
  /** Forget a saved name. The thread stays. */
  "session/delete": { params: SessionDeleteParams; result: SessionDeleteResponse };
  /**
   * Start a new thread of its own from a saved name, a thread id, or 8 or more first characters of an id.
   *
   * A name forks from the saved point, an id from its end; `at` says otherwise. `byId` does not look at names.
   */
  "session/fork": { params: SessionForkParams; result: SessionForkResponse };
  /** List saved sessions, the latest first. */
  "session/list": { params: SessionListParams; result: SessionListResponse };
  /** Open the very thread that a saved name, an id or the beginning of an id means, wherever it has got to. */
  "session/resume": { params: SessionResumeParams; result: SessionResumeResponse };
  /**
   * Give a name to a thread as it is now. Frozen: later turns do not move it; saving under the name again does.
   *
   * 1 to 100 characters, no control characters, no `-` at the start. In the middle of a turn, the saved state is as
   * if the turn had been interrupted there. An ephemeral thread cannot be saved.
   */
  "session/save": { params: SessionSaveParams; result: SessionSaveResponse };
  /** List skills by directory. */
  "skills/list": { params: SkillsListParams; result: SkillsListResponse };
  /** Put a thread away, with everything it owns, closing what runs. Forks are nobody's and stay. */
  "thread/archive": { params: ThreadArchiveParams; result: ThreadArchiveResponse };
  /**
   * End all of them.
   * @experimental
   */
  "thread/backgroundTerminals/clean": { params: ThreadBackgroundTerminalsCleanParams; result: ThreadBackgroundTerminalsCleanResponse };
  /**
   * List commands of a thread that still run though their call has returned.
   * @experimental
   */
  "thread/backgroundTerminals/list": { params: ThreadBackgroundTerminalsListParams; result: ThreadBackgroundTerminalsListResponse };
  /**
   * End one of them and everything it started.
   * @experimental
   */
  "thread/backgroundTerminals/terminate": { params: ThreadBackgroundTerminalsTerminateParams; result: ThreadBackgroundTerminalsTerminateResponse };
  /** Decide whether and how a child reports to its parent when a turn of it ends. Holds from the next end on. */
  "thread/callback/set": { params: ThreadCallbackSetParams; result: ThreadCallbackSetResponse };
  /**
   * Close a thread and everything it owns: sealed from the top, closed from the bottom.
   *
   * `grace` is how many seconds tasks may take to end by themselves (5 by default); the call returns within a second
   * of it, whatever is left. Closing twice is a success, and a close during a close joins it. With `dryRun` nothing
   * is touched: the answer has the same threads in the same order.
   */
  "thread/close": { params: ThreadCloseParams; result: ThreadCloseResponse };
  /** Condense what the model sees of a thread into a summary. Runs as a turn; the history itself keeps everything. */
  "thread/compact/start": { params: ThreadCompactStartParams; result: ThreadCompactStartResponse };
  /**
   * Delete a thread and everything it owns, closing what runs.
   *
   * A saved name or a fork that needs the history keeps it readable for itself; `purge` takes it from those too, also
   * later: from what is kept of a thread that was deleted before.
   */
  "thread/delete": { params: ThreadDeleteParams; result: ThreadDeleteResponse };
  /**
   * Begin a thread of its own from the history of another one.
   *
   * All of it, or up to the end of `lastTurnId`, or up to the start of `beforeTurnId`. The new thread is nobody's
   * child.
   */
  "thread/fork": { params: ThreadForkParams; result: ThreadForkResponse };
  /** Drop the goal of a thread. */
  "thread/goal/clear": { params: ThreadGoalClearParams; result: ThreadGoalClearResponse };
  /** Ask what a thread is after. */
  "thread/goal/get": { params: ThreadGoalGetParams; result: ThreadGoalGetResponse };
  /**
   * Set what a thread is after, or change the state or the budget of that. What is left out stays as it is.
   *
   * While a goal is `active`, turns follow one another by themselves, the first one after the answer to this. A turn
   * that is interrupted is followed by none until somebody speaks; one that fails leaves the goal `blocked`.
   */
  "thread/goal/set": { params: ThreadGoalSetParams; result: ThreadGoalSetResponse };
  /** Put raw model items into the history of a thread without starting a turn. They go to the model as they are. */
  "thread/inject_items": { params: ThreadInjectItemsParams; result: ThreadInjectItemsResponse };
  /** Read the items of a thread, or of one turn, page by page, the oldest first unless told otherwise. */
  "thread/items/list": { params: ThreadItemsListParams; result: ThreadItemsListResponse };
  /**
   * List threads that are stored, page by page, the newest first unless told otherwise.
   *
   * Without `sourceKinds`, those that a person started. In a list of such, one that was opened and left, with no turn
   * and no name, does not appear. `parentThreadId` asks for children, `ancestorThreadId` for descendants at any depth.
   * `searchTerm` looks at titles and names; for everything said use `thread/search`.
   */
  "thread/list": { params: ThreadListParams; result: ThreadListResponse };
  /** List the ids of threads that are in memory. */
  "thread/loaded/list": { params: ThreadLoadedListParams; result: ThreadLoadedListResponse };
  /** Change what is kept about a thread beside its conversation. */
  "thread/metadata/update": { params: ThreadMetadataUpdateParams; result: ThreadMetadataUpdateResponse };
  /** Give a thread a name that people will read. */
  "thread/name/set": { params: ThreadSetNameParams; result: ThreadSetNameResponse };
  /** Set the note of a thread; blank clears it. At most 500 characters. The model never sees it. */
  "thread/note/set": { params: ThreadSetNoteParams; result: ThreadSetNoteResponse };
  /**
   * Put a prompt at the end of the queue of a thread; it runs when its time has come, also after a restart.
   *
   * The same `clientUserMessageId` again gets the first answer again. At most 100 prompts wait at a time.
   * @experimental
   */
  "thread/queue/add": { params: ThreadQueueAddParams; result: ThreadQueueAddResponse };
  /**
   * Take an entry out.
   * @experimental
   */
  "thread/queue/delete": { params: ThreadQueueDeleteParams; result: ThreadQueueDeleteResponse };
  /**
   * List what waits for a thread, in order.
   * @experimental
   */
  "thread/queue/list": { params: ThreadQueueListParams; result: ThreadQueueListResponse };
  /** Hold the queue of a thread: entries may come, none starts a turn until `thread/queue/resume`. */
  "thread/queue/pause": { params: ThreadQueuePauseParams; result: ThreadQueuePauseResponse };
  /**
   * Put the queue into this order. Names every entry once.
   * @experimental
   */
  "thread/queue/reorder": { params: ThreadQueueReorderParams; result: ThreadQueueReorderResponse };
  /** Let the queue of a thread run again, whoever or whatever paused it. */
  "thread/queue/resume": { params: ThreadQueueResumeParams; result: ThreadQueueResumeResponse };
  /**
   * Start a turn from an entry now, the first one unless another is named. Refused while a turn runs.
   * @experimental
   */
  "thread/queue/start": { params: ThreadQueueStartParams; result: ThreadQueueStartResponse };
  /**
   * Change the text of a prompt that waits.
   * @experimental
   */
  "thread/queue/update": { params: ThreadQueueUpdateParams; result: ThreadQueueUpdateResponse };
  /** Read a thread without loading it or subscribing to it; `includeTurns` adds its turns. */
  "thread/read": { params: ThreadReadParams; result: ThreadReadResponse };
  /**
   * Go on with a thread, or subscribe to one that runs.
   *
   * With `sinceSeq` the notifications that were missed follow the answer, each with its own `seq`, then pending
   * requests, then live ones: no gap, nothing twice. `descendants` does the same for owned threads by their ids,
   * and one that was born since and is not named there is heard from its birth; `false` leaves them out. Settings,
   * instructions and configuration in it hold from the next turn on.
   */
  "thread/resume": { params: ThreadResumeParams; result: ThreadResumeResponse };
  /** Take a turn and all later ones out of the history of a thread. Files stay as they are. */
  "thread/revert": { params: ThreadRevertParams; result: ThreadRevertResponse };
  /**
   * Find threads by what was said in them: these words, one behind the other. The last may be a beginning.
   * @experimental
   */
  "thread/search": { params: ThreadSearchParams; result: ThreadSearchResponse };
  /**
   * Find every place in one thread where something was said, letter by letter, in whatever case.
   * @experimental
   */
  "thread/searchOccurrences": { params: ThreadSearchOccurrencesParams; result: ThreadSearchOccurrencesResponse };
  /**
   * Change what later turns of a thread start from.
   *
   * What is left out stays; null for `serviceTier` takes it back to the default.
   * @experimental
   */
  "thread/settings/update": { params: ThreadSettingsUpdateParams; result: ThreadSettingsUpdateResponse };
  /**
   * Run the person's own command line in a thread, through a shell and outside the sandbox.
   *
   * The model sees command and output.
   */
  "thread/shellCommand": { params: ThreadShellCommandParams; result: ThreadShellCommandResponse };
  /**
   * Begin a thread. What is left out comes from the configuration of its directory.
   *
   * The connection is subscribed to it and to every thread it will own. An `ephemeral` thread leaves nothing on disk.
   * `config` overrides keys of the configuration for this thread alone.
   */
  "thread/start": { params: ThreadStartParams; result: ThreadStartResponse };
  /**
   * Read the whole tree that a thread belongs to in one answer.
   *
   * With `subscribe`, `thread/tree/changed` follows for as long as the connection lasts, or until it unsubscribes
   * from the root.
   */
  "thread/tree": { params: ThreadTreeParams; result: ThreadTreeResponse };
  /**
   * Read the turns of a thread page by page, the latest first unless told otherwise.
   *
   * `itemsView` says how much of each.
   */
  "thread/turns/list": { params: ThreadTurnsListParams; result: ThreadTurnsListResponse };
  /** Take a thread out of the archive again, with what was put away together with it. */
  "thread/unarchive": { params: ThreadUnarchiveParams; result: ThreadUnarchiveResponse };
  /** Hear no more of a thread on this connection. It goes on running. */
  "thread/unsubscribe": { params: ThreadUnsubscribeParams; result: ThreadUnsubscribeResponse };
  /** List sections that threads are sorted into. */
  "threadSection/list": { params: ThreadSectionListParams; result: ThreadSectionListResponse };
  /**
   * End the running turn; what it has said so far stays.
   *
   * The agents that the thread owns go on, unless `cascade` ends their turns too. Sub-sessions always end with it.
   */
  "turn/interrupt": { params: TurnInterruptParams; result: TurnInterruptResponse };
  /**
   * Say something, and have it answered. Settings in it hold for this turn and later ones.
   *
   * On a busy thread the input joins the running turn, whose id is returned. The same `clientUserMessageId` again
   * gets the first answer again. `outputSchema` is a JSON Schema for the final message of this turn alone.
   */
  "turn/start": { params: TurnStartParams; result: TurnStartResponse };
  /** Add input to the running turn; refused if that is not the expected one. */
  "turn/steer": { params: TurnSteerParams; result: TurnSteerResponse };
}

/** Every request of the server, with what it carries and what answers it. */
export interface ServerMethods {
  /** Ask the client that brought the tokens for fresh ones. */
  "account/chatgptAuthTokens/refresh": { params: ChatgptAuthTokensRefreshParams; result: ChatgptAuthTokensRefreshResponse };
  /**
   * May this command run?
   *
   * The first answer counts, whichever connection it comes from; `serverRequest/resolved` tells the others. The id
   * stays the same over a reconnect and a restart. `origin` is the chain of threads that the question came up
   * through, from the one that asks to its root. Offer only what `availableDecisions` has, if it is there.
   */
  "item/commandExecution/requestApproval": { params: CommandExecutionRequestApprovalParams; result: CommandExecutionRequestApprovalResponse };
  /**
   * May these files be changed?
   *
   * The changes are in the item of that id. `grantRoot`, if it is there, would open that directory for the rest of
   * the thread. `origin` is the chain of threads that the question came up through, from the one that asks to its
   * root.
   */
  "item/fileChange/requestApproval": { params: FileChangeRequestApprovalParams; result: FileChangeRequestApprovalResponse };
  /** Run a tool that the client offered with `dynamicTools` when it started the thread. */
  "item/tool/call": { params: DynamicToolCallParams; result: DynamicToolCallResponse };
  /**
   * Put questions to the person.
   *
   * `origin` is the chain of threads that they came up through, from the one that asks to its root.
   */
  "item/tool/requestUserInput": { params: ToolRequestUserInputParams; result: ToolRequestUserInputResponse };
}

/** Every notification of the server, with what it carries. */
export interface Notifications {
  /** A login ended, well or not. */
  "account/login/completed": { params: AccountLoginCompletedNotification };
  /** Another account is in use, or none any more. */
  "account/updated": { params: AccountUpdatedNotification };
  /**
   * Something happened beside the conversation. `isFinal`: a child came to rest, which is worth a notification.
   *
   * `threadId` is null where it is about no thread: how far an index is that is being made, and, final, that it is done.
   */
  "backgroundEvent": { params: BackgroundEventNotification };
  /** A command wrote something. With `capReached` the rest of this stream is dropped. */
  "command/exec/outputDelta": { params: CommandExecOutputDeltaNotification };
  /** Something in the configuration could not be used as it stands. */
  "configWarning": { params: ConfigWarningNotification };
  /** A call to the model failed. With `willRetry` the turn goes on, else it ends. */
  "error": { params: ErrorNotification };
  /** Something changed at what is being watched. */
  "fs/changed": { params: FsChangedNotification };
  /** Something about reviews that a person should know. */
  "guardianWarning": { params: GuardianWarningNotification };
  /** The agent says something more. */
  "item/agentMessage/delta": { params: AgentMessageDeltaNotification };
  /** The judgement is there. */
  "item/autoApprovalReview/completed": { params: ItemGuardianApprovalReviewCompletedNotification };
  /** A model began to judge whether something may be done. */
  "item/autoApprovalReview/started": { params: ItemGuardianApprovalReviewStartedNotification };
  /** A command wrote something. */
  "item/commandExecution/outputDelta": { params: CommandExecutionOutputDeltaNotification };
  /** The agent typed something into a running command. */
  "item/commandExecution/terminalInteraction": { params: TerminalInteractionNotification };
  /** An item is done. It supersedes whatever was streamed of it. */
  "item/completed": { params: ItemCompletedNotification };
  /** The changes that an item proposes are now these. */
  "item/fileChange/patchUpdated": { params: FileChangePatchUpdatedNotification };
  /** An MCP tool says how far it has come. */
  "item/mcpToolCall/progress": { params: McpToolCallProgressNotification };
  /** A proposed plan goes on. */
  "item/plan/delta": { params: PlanDeltaNotification };
  /** The summary of the reasoning has a new part. */
  "item/reasoning/summaryPartAdded": { params: ReasoningSummaryPartAddedNotification };
  /** The summary of the reasoning goes on. */
  "item/reasoning/summaryTextDelta": { params: ReasoningSummaryTextDeltaNotification };
  /** The reasoning itself goes on, where the model shows it. */
  "item/reasoning/textDelta": { params: ReasoningTextDeltaNotification };
  /** An item began. Deltas may follow; `item/completed` has the last word. */
  "item/started": { params: ItemStartedNotification };
  /** A server is starting, ready, or failed to start. */
  "mcpServer/startupStatus/updated": { params: McpServerStatusUpdatedNotification };
  /** A process ended. What was streamed is not repeated here. */
  "process/exited": { params: ProcessExitedNotification };
  /** A process wrote something. With `capReached` the rest of this stream is dropped. */
  "process/outputDelta": { params: ProcessOutputDeltaNotification };
  /**
   * An answer of this connection was not used: another one came first, nothing of that id was asked, or it does not
   * fit what was asked. `threadId` is null where no thread is known to have asked.
   */
  "serverRequest/rejected": { params: ServerRequestRejectedNotification };
  /** A question was answered, or is no longer of interest; take it off the screen. */
  "serverRequest/resolved": { params: ServerRequestResolvedNotification };
  /** A saved name is gone. Goes to every connection. */
  "session/deleted": { params: SessionDeletedNotification };
  /** A thread was saved under a name. Goes to every connection. */
  "session/saved": { params: SessionSavedNotification };
  /** A thread was put away. Goes to every connection. */
  "thread/archived": { params: ThreadArchivedNotification };
  /**
   * A thread left memory: unloaded for want of use, or closed. Goes to every connection.
   *
   * `by` is the thread on which the close was called, which is this one or an ancestor.
   */
  "thread/closed": { params: ThreadClosedNotification };
  /** A thread is gone. Goes to every connection. */
  "thread/deleted": { params: ThreadDeletedNotification };
  /** This connection was too slow: it missed the events from `fromSeq` to `toSeq`. `thread/resume` brings them. */
  "thread/gap": { params: ThreadGapNotification };
  /** The goal of a thread is dropped. */
  "thread/goal/cleared": { params: ThreadGoalClearedNotification };
  /** The goal of a thread changed. */
  "thread/goal/updated": { params: ThreadGoalUpdatedNotification };
  /** A thread has another name. Goes to every connection. */
  "thread/name/updated": { params: ThreadNameUpdatedNotification };
  /** The note of a thread changed. Goes to every connection. */
  "thread/note/updated": { params: ThreadNoteUpdatedNotification };
  /** The queue of a thread is not what it was; list it if it matters. */
  "thread/queue/changed": { params: ThreadQueueChangedNotification };
  /** The end of the history of a thread was taken back; read it anew. */
  "thread/reverted": { params: ThreadRevertedNotification };
  /** Later turns start from these settings. */
  "thread/settings/updated": { params: ThreadSettingsUpdatedNotification };
  /** A thread began, whoever began it. Goes to every connection. */
  "thread/started": { params: ThreadStartedNotification };
  /** A thread got busy, came to rest, or waits for somebody. Goes to every connection. */
  "thread/status/changed": { params: ThreadStatusChangedNotification };
  /** What a thread has used so far. */
  "thread/tokenUsage/updated": { params: ThreadTokenUsageUpdatedNotification };
  /** Something in a tree changed: nodes that are new or different, and ids of those that left it. */
  "thread/tree/changed": { params: ThreadTreeChangedNotification };
  /** A thread was taken out again. Goes to every connection. */
  "thread/unarchived": { params: ThreadUnarchivedNotification };
  /** A turn ended: completed, interrupted or failed. Nothing of it follows. */
  "turn/completed": { params: TurnCompletedNotification };
  /** All that this turn changed in files, as one unified diff. */
  "turn/diff/updated": { params: TurnDiffUpdatedNotification };
  /** The agent wrote down its plan, or moved on in it. */
  "turn/plan/updated": { params: TurnPlanUpdatedNotification };
  /** A turn began. */
  "turn/started": { params: TurnStartedNotification };
  /** Something a person should know; of a thread, if one is named. */
  "warning": { params: WarningNotification };
}

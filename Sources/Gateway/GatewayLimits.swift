/// Limits on the content of one gateway frame: longer ids are cut, further rows and blocks are ignored.
package enum GatewayLimits {
    /// Longest id of a run, call or message, in UTF-8 bytes.
    package static let identifierBytes = 256
    /// Most rows of a transcript page and most blocks of a row; the gateway's own limit of a page.
    package static let historyRows = 1_000
    /// The length at which gateways cut the text of an event, in UTF-16 units (`long-answer-2mb`).
    package static let eventText = 500_000
    /// Most levels of thinking that one model has; gateways know six.
    static let thinkingLevels = 32
    /// Most warnings, variables and words of one approval: more than a person reads.
    static let approvalLines = 256
    /// Most rows of a list of approvals or questions. An item missing from a list counts as ended, so the list must be
    /// read whole.
    static let waitingRows = 4_096
    /// Most parts of one question; gateways send three.
    package static let questionParts = 4
    /// Most options and answers of each part; gateways have four options.
    package static let questionOptions = 8
    /// Most models of a list: the whole catalogue of a release of 2026 has some hundreds.
    static let models = 4_096
    /// Most artifacts of a session.
    static let artifacts = 1_000
    /// Most permissions of a list; gateways list as many.
    static let approvalGrants = 500
    /// Most jobs of a list, and most of their runs on a page: a household has some ten.
    package static let automations = 1_000
    /// Most nodes of a list, and most commands and permissions of each: a household has some ten nodes with some dozens
    /// of commands.
    static let nodes = 100
    static let nodeCommands = 128
    static let nodePermissions = 64
    /// Most devices that wait for approval, and most roles and scopes of each: an operator sees a few at a time.
    package static let pairingRequests = 256
    static let pairingNames = 32
    /// Most providers and most windows of one: each is a subscription of the gateway's owner.
    static let usageProviders = 32
    static let usageWindows = 16
    /// Most days of a usage report: a year, and the days that another time zone adds at its ends.
    static let usageDays = 400
    /// Most sessions of a usage report, which is also the most that Ladle requests.
    package static let usageSessions = 1_000
}

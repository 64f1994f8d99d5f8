import AgentCore
import AgentModel
import Connectivity
import Failover
import Logging

// Settings for connectivity and for logs.
extension Setting {
    private static let policy = PolicySettings()
    private static let validation = PolicySettings.Validation()
    private static let liveness = KeepAlive()
    private static let budget = QuestionBudget.Limits()

    static let requiredLevel = Setting(
        "REQUIRED_LEVEL", .oneOf(ReachLevel.allCases.map(\.rawValue)),
        .implied("target if there are targets, else internet if there is a source, else lan", example: "lan"),
        .onRestart, "The connectivity that a network must have. The device leaves it for one that has it.")
    static let targets = Setting(
        "TARGETS",
        .other("NAME=[SCHEME://]HOST[:PORT], separated by spaces; SCHEME is \(Target.schemes.joined(separator: ", "))"),
        .implied("none", example: "broker=mqtts://broker.example.com:8883"), .onRestart,
        "The device's own servers. The agent keeps a connection to each.")
    static let authorities = Setting(
        "AUTHORITIES", .path, .implied("those of the system", example: "/etc/ssl/certs/ca-certificates.crt"),
        .onRestart,
        "A PEM file with the CA certificates for targets with TLS and for the captive portal API.")
    static let keepAlive = seconds(
        "KEEPALIVE_S", 1...3600, standard: liveness.idle, .onRestart,
        "Send a keepalive on a target's connection after this long without traffic.")
    static let keepAliveRetry = seconds(
        "KEEPALIVE_RETRY_S", 1...60, standard: liveness.interval, .onRestart, "Interval of repeated keepalives.")
    static let keepAliveCount = number(
        "KEEPALIVE_COUNT", 1...10, standard: liveness.count, .onRestart,
        "Number of unanswered keepalives after which a connection counts as lost.")
    static let keepAliveRequest = seconds(
        "KEEPALIVE_REQUEST_S", 5...3600, standard: liveness.application, .onRestart,
        "Interval of requests that check whether an http or mqtt server still answers.")
    static let validationURL = Setting(
        "VALIDATION_URL", .other("a URL such as http://HOST/PATH"),
        .implied("none", example: "http://check.example.com/generate_204"), .onRestart,
        "A page on the maker's server. The agent requests it without TLS to check for internet access.")
    static let validationStatus = Setting(
        "VALIDATION_STATUS", .other("a status from 200 to 299, with ALTNET_VALIDATION_URL"),
        .implied("\(ValidationSource.defaultStatus)", example: "\(ValidationSource.defaultStatus)"), .onRestart,
        "The expected status of ALTNET_VALIDATION_URL.")
    static let validationBody = Setting(
        "VALIDATION_BODY",
        .other("1 to \(ValidationSource.maximumBodyLength) bytes, with ALTNET_VALIDATION_URL and without a status"),
        .implied("none", example: "success"), .onRestart, "The expected text, instead of the status.")
    static let validationInterval = seconds(
        "VALIDATION_INTERVAL_S", 5...3600, standard: validation.interval, .onReload,
        "Interval of connectivity checks while they succeed.")
    static let validationLimit = seconds(
        "VALIDATION_LIMIT_S", 1...30, standard: validation.limit, .onReload,
        "Time limit of a connectivity check.")
    static let validationStrikes = number(
        "VALIDATION_STRIKES", 1...5, standard: validation.strikes, .onReload,
        "How many of the last five checks must fail before the network counts as having no internet access.")
    static let validationRetry = seconds(
        "VALIDATION_RETRY_S", 1...60, standard: validation.retry, .onReload,
        "Interval of connectivity checks after a failure.")
    static let validationDoubtLimit = seconds(
        "VALIDATION_DOUBT_LIMIT_S", 1...30, standard: validation.doubtLimit, .onReload,
        "Time limit of a check while the network is in doubt. At most ALTNET_VALIDATION_LIMIT_S.")
    static let signInLimit = seconds(
        "SIGN_IN_LIMIT_S", 10...600, standard: validation.signInLimit, .onReload,
        "How long to wait for a hotspot provider to sign in before the network counts as captive.")
    static let noInternetRetry = seconds(
        "NO_INTERNET_RETRY_S", 10...86_400, standard: policy.noInternetBlock.first, .onReload,
        "How long to block a network without internet access; doubles up to 2 hours.")
    static let validationQuestions = number(
        "VALIDATION_QUESTIONS", 12...3600, standard: budget.questionsPerHour, .onRestart,
        "Maximum number of check requests in an hour.")
    static let validationVolume = number(
        "VALIDATION_KB", 20...1_000_000, .kB, standard: budget.bytesPerHour / 1000, .onRestart,
        "Maximum traffic of checks in an hour, in both directions.")

    // MARK: Log and recording

    static let logLevel = Setting(
        "LOG_LEVEL", .oneOf(Logger.Level.allCases.map(\.rawValue)), .value(Logger.Level.notice.rawValue), .onReload,
        "The least important level to log. trace logs everything.")
    static let record = Setting(
        "RECORD", .path, .implied("none", example: "/var/lib/altnet/record"), .onRestart,
        "A file for a recording of the policy's events and decisions, which altnet-lab can replay.")
    static let recordLimit = number(
        "RECORD_MB", 1...1024, .mebibytes, standard: 16, .onRestart, "Maximum size of the recording.")
}

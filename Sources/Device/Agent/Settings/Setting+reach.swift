import AgentCore
import AgentModel
import Connectivity
import Failover
import Logging

// Settings for the network's reach and for logs.
extension Setting {
    private static let policy = PolicySettings()
    private static let validation = PolicySettings.Validation()
    private static let liveness = KeepAlive()
    private static let budget = QuestionBudget.Limits()

    static let requiredLevel = Setting(
        "REQUIRED_LEVEL", .oneOf(ReachLevel.allCases.map(\.rawValue)),
        .implied("target where there are targets, else internet where there is a source, else lan", example: "lan"),
        .onRestart, "A network that does not lead so far is left for one that does.")
    static let targets = Setting(
        "TARGETS",
        .other("NAME=[SCHEME://]HOST:PORT, separated by spaces; SCHEME is \(Target.schemes.joined(separator: ", "))"),
        .implied("none", example: "broker=mqtts://broker.example.com:8883"), .onRestart,
        "What the device is there for: its own servers, to each of which a connection is kept.")
    static let authorities = Setting(
        "AUTHORITIES", .path, .implied("those of the system", example: "/etc/ssl/certs/ca-certificates.crt"),
        .onRestart,
        "A PEM file with the certificates that vouch for targets with TLS and for a captive portal's API.")
    static let keepAlive = seconds(
        "KEEPALIVE_S", 1...3600, standard: liveness.idle, .onRestart,
        "A target's connection that was silent for this long is asked for a sign of life.")
    static let keepAliveRetry = seconds(
        "KEEPALIVE_RETRY_S", 1...60, standard: liveness.interval, .onRestart, "How soon it is asked again.")
    static let keepAliveCount = number(
        "KEEPALIVE_COUNT", 1...10, standard: liveness.count, .onRestart, "How often it is asked before it is given up.")
    static let keepAliveRequest = seconds(
        "KEEPALIVE_REQUEST_S", 5...3600, standard: liveness.application, .onRestart,
        "How often a server that is spoken to (http, mqtt) is asked whether its program still runs.")
    static let validationURL = Setting(
        "VALIDATION_URL", .other("a URL such as http://HOST/PATH"),
        .implied("none", example: "http://check.example.com/generate_204"), .onRestart,
        "Who is asked whether the network leads to the internet: a page of the maker's own, without TLS.")
    static let validationStatus = Setting(
        "VALIDATION_STATUS", .other("a status from 200 to 299, with ALTNET_VALIDATION_URL"),
        .implied("\(ValidationSource.defaultStatus)", example: "\(ValidationSource.defaultStatus)"), .onRestart,
        "The status that the right answer has.")
    static let validationBody = Setting(
        "VALIDATION_BODY",
        .other("1 to \(ValidationSource.maximumBodyLength) bytes, with ALTNET_VALIDATION_URL and without a status"),
        .implied("none", example: "success"), .onRestart, "Or else the text that the right answer consists of.")
    static let validationInterval = seconds(
        "VALIDATION_INTERVAL_S", 5...3600, standard: validation.interval, .onReload,
        "How often it is looked how far the network leads, while all is well.")
    static let validationLimit = seconds(
        "VALIDATION_LIMIT_S", 1...30, standard: validation.limit, .onReload,
        "A look that has not succeeded after this has failed.")
    static let validationStrikes = number(
        "VALIDATION_STRIKES", 1...5, standard: validation.strikes, .onReload,
        "How many of the last five looks have to fail before the network counts as useless.")
    static let validationRetry = seconds(
        "VALIDATION_RETRY_S", 1...60, standard: validation.retry, .onReload,
        "From look to look after a failure.")
    static let validationDoubtLimit = seconds(
        "VALIDATION_DOUBT_LIMIT_S", 1...30, standard: validation.doubtLimit, .onReload,
        "What ALTNET_VALIDATION_LIMIT_S is, and at most that, while there is a doubt.")
    static let signInLimit = seconds(
        "SIGN_IN_LIMIT_S", 10...600, standard: validation.signInLimit, .onReload,
        "How long the verdict on a login page waits for a provider that signs in.")
    static let noInternetRetry = seconds(
        "NO_INTERNET_RETRY_S", 10...86_400, standard: policy.noInternetBlock.first, .onReload,
        "A network that led nowhere is left alone for this long, doubling to 2 hours.")
    static let validationQuestions = number(
        "VALIDATION_QUESTIONS", 12...3600, standard: budget.questionsPerHour, .onRestart,
        "How many questions all that may cost in an hour.")
    static let validationVolume = number(
        "VALIDATION_KB", 20...1_000_000, .kB, standard: budget.bytesPerHour / 1000, .onRestart,
        "How much traffic all that may cost in an hour, in both directions.")

    // MARK: Log and recording

    static let logLevel = Setting(
        "LOG_LEVEL", .oneOf(Logger.Level.allCases.map(\.rawValue)), .value(Logger.Level.notice.rawValue), .onReload,
        "What is less important than this is not logged. Trace tells everything.")
    static let record = Setting(
        "RECORD", .path, .implied("none", example: "/var/lib/altnet/record"), .onRestart,
        "A file in which everything that the policy hears and decides is recorded, to be replayed elsewhere.")
    static let recordLimit = number(
        "RECORD_MB", 1...1024, .mebibytes, standard: 16, .onRestart, "The size that the recording may grow to.")
}

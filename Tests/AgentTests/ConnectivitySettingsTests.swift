import AgentCore
import AgentModel
import Connectivity
import Testing

@testable import Agent

@Suite struct ConnectivitySettingsTests {
    @Test(arguments: [
        ([:], ReachLevel.lan), (["ALTNET_VALIDATION_URL": "http://check.example/204"], .internet),
        (["ALTNET_TARGETS": "broker=mqtt://broker.example:1883"], .target),
        (["ALTNET_TARGETS": "broker=b.example:1", "ALTNET_VALIDATION_URL": "http://check.example/"], .target),
        (["ALTNET_TARGETS": "broker=b.example:1", "ALTNET_REQUIRED_LEVEL": "lan"], .lan),
        (["ALTNET_REQUIRED_LEVEL": "link"], .link),
    ])
    func theLevelFollowsFromWhatIsSet(environment: [String: String], level: ReachLevel) throws {
        let settings = try AgentSettings(environment: environment)
        #expect(settings.connectivity.required == level)
        #expect((settings.policy.validation == nil) == (level == .link))
    }

    @Test(arguments: [
        ("ALTNET_TARGETS", "broker"), ("ALTNET_TARGETS", "broker=-bad-.example:1883"),
        ("ALTNET_TARGETS", "broker=b.example:0"), ("ALTNET_TARGETS", "broker=b.example:65536"),
        ("ALTNET_TARGETS", "broker=300.1.2.3:1883"), ("ALTNET_TARGETS", "a=b.example:1 a=c.example:1"),
        ("ALTNET_VALIDATION_URL", "https://check.example/"), ("ALTNET_VALIDATION_URL", "check.example"),
        ("ALTNET_VALIDATION_STATUS", "204"), ("ALTNET_VALIDATION_INTERVAL_S", "0"),
        ("ALTNET_VALIDATION_STRIKES", "6"), ("ALTNET_KEEPALIVE_S", "0"), ("ALTNET_REQUIRED_LEVEL", "moon"),
        ("ALTNET_REQUIRED_LEVEL", "target"), ("ALTNET_REQUIRED_LEVEL", "internet"),
        ("ALTNET_PROVIDERS", "providers.sock"), ("ALTNET_AUTHORITIES", "authorities.pem"),
        ("ALTNET_NO_INTERNET_RETRY_S", "-1"), ("ALTNET_VALIDATION_RETRY_S", "0"),
        ("ALTNET_VALIDATION_DOUBT_LIMIT_S", "4"), ("ALTNET_VALIDATION_QUESTIONS", "11"),
        ("ALTNET_VALIDATION_KB", "19"), ("ALTNET_SIGN_IN_LIMIT_S", "601"), ("ALTNET_KEEPALIVE_RETRY_S", "61"),
        ("ALTNET_KEEPALIVE_COUNT", "0"), ("ALTNET_KEEPALIVE_REQUEST_S", "4"),
    ])
    func whatMakesNoSenseIsRefusedAtConfiguration(name: String, value: String) {
        let error = #expect(throws: InvalidSettings.self) { try AgentSettings(environment: [name: value]) }
        #expect(error?.problems.map(\.name) == [name])
        #expect(error?.problems.first?.allowed.isEmpty == false)
    }

    @Test func allOfItCanBeSet() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_VALIDATION_LIMIT_S": "5", "ALTNET_VALIDATION_RETRY_S": "2", "ALTNET_VALIDATION_DOUBT_LIMIT_S": "4",
            "ALTNET_SIGN_IN_LIMIT_S": "90", "ALTNET_VALIDATION_QUESTIONS": "100", "ALTNET_VALIDATION_KB": "50",
            "ALTNET_KEEPALIVE_S": "9", "ALTNET_KEEPALIVE_RETRY_S": "3", "ALTNET_KEEPALIVE_COUNT": "4",
            "ALTNET_KEEPALIVE_REQUEST_S": "61",
        ])
        let validation = try #require(settings.policy.validation)
        #expect(validation.retry == .seconds(2) && validation.doubtLimit == .seconds(4))
        #expect(validation.signInLimit == .seconds(90))
        #expect(settings.connectivity.budget == .init(questionsPerHour: 100, bytesPerHour: 50_000))
        let keepAlive = settings.connectivity.keepAlive
        #expect(keepAlive.detection == .seconds(21) && keepAlive.application == .seconds(61))
        let none = try AgentSettings(environment: [:])
        #expect(none.connectivity.budget == QuestionBudget.Limits() && none.connectivity.keepAlive == .init())
    }

    /// All that a target may begin with.
    @Test func theSchemesAreNamed() {
        let error = #expect(throws: InvalidSettings.self) { try AgentSettings(environment: ["ALTNET_TARGETS": "x"]) }
        for scheme in ["tcp", "tls", "http", "https", "mqtt", "mqtts"] {
            #expect(error?.problems.first?.allowed.contains(scheme) == true)
        }
    }

    @Test func timesGoToThePolicy() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_VALIDATION_INTERVAL_S": "60", "ALTNET_VALIDATION_LIMIT_S": "1", "ALTNET_VALIDATION_STRIKES": "2",
            "ALTNET_NO_INTERNET_RETRY_S": "20", "ALTNET_KEEPALIVE_S": "9", "ALTNET_AUTHORITIES": "/etc/altnet/ca.pem",
        ])
        let validation = try #require(settings.policy.validation)
        #expect(validation.interval == .seconds(60) && validation.limit == .seconds(1) && validation.strikes == 2)
        #expect(validation.doubtLimit == .seconds(1), "no longer than the limit")
        #expect(settings.policy.noInternetBlock.first == .seconds(20))
        #expect(settings.policy.contradiction == nil)
        #expect(settings.connectivity.keepAlive.idle == .seconds(9))
        #expect(settings.connectivity.authorities == "/etc/altnet/ca.pem")
    }
}

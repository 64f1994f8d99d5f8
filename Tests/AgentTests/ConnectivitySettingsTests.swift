import AgentModel
import OnlineValidation
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
        ("ALTNET_NO_INTERNET_RETRY_S", "-1"),
    ])
    func whatMakesNoSenseIsRefusedAtConfiguration(name: String, value: String) {
        let error = #expect(throws: InvalidSetting.self) { try AgentSettings(environment: [name: value]) }
        #expect(error?.name == name)
        #expect(error?.allowed.isEmpty == false)
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

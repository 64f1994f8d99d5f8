import Testing

@testable import Connectivity

struct TargetTests {
    @Test(arguments: [
        ("broker=mqtt.example.com:8883", "mqtt.example.com", 8883, Target.Service.tcp, false),
        ("app=tls://app.example.com:443", "app.example.com", 443, .tcp, true),
        ("app=tcp://app.example.com.:1", "app.example.com.", 1, .tcp, false),
        ("b=mqtt://broker:1883", "broker", 1883, .mqtt, false),
        ("b=mqtts://192.0.2.7:65535", "192.0.2.7", 65_535, .mqtt, true),
        ("a-b_C9=http://[2001:db8::1]:80", "2001:db8::1", 80, .http, false),
        ("w=https://xn--bcher-kva.example:443", "xn--bcher-kva.example", 443, .http, true),
        ("x=host", "host", 80, .tcp, false),
        ("x=[2001:db8::1]", "2001:db8::1", 80, .tcp, false),
        ("x=http://192.0.2.7", "192.0.2.7", 80, .http, false),
        ("x=tls://host", "host", 443, .tcp, true),
        ("x=https://host", "host", 443, .http, true),
        ("x=mqtt://host", "host", 1883, .mqtt, false),
        ("x=mqtts://host", "host", 8883, .mqtt, true),
    ])
    func reads(setting: String, host: String, port: Int, service: Target.Service, isTLS: Bool) throws {
        let target = try Target(setting: setting)
        #expect(target.name == String(setting.prefix { $0 != "=" }))
        #expect((target.host, target.port, target.service, target.isTLS) == (host, port, service, isTLS))
        #expect(try Target(setting: target.description) == target)
    }

    // covers: seed/bad-host
    @Test(arguments: [
        ("broker", TargetError.malformed("broker")),
        ("broker=", .badHost("")),
        ("x=2001:db8::", .badPort("")),
        ("=host:1", .badName("")),
        ("bro ker=host:1", .badName("bro ker")),
        ("brökér=host:1", .badName("brökér")),
        ("x=ftp://host:1", .badScheme("ftp")),
        ("x=MQTT://host:1", .badScheme("MQTT")),
        ("x=host:0", .badPort("0")),
        ("x=host:65536", .badPort("65536")),
        ("x=host:+80", .badPort("+80")),
        ("x=host:-1", .badPort("-1")),
        ("x=host:", .badPort("")),
        ("x=host:99999999999999999999", .badPort("99999999999999999999")),
        ("x=host:80/", .badPort("80/")),
        ("x=:80", .badHost("")),
        ("x=.:80", .badHost(".")),
        ("x=a..b:80", .badHost("a..b")),
        ("x=-a.example:80", .badHost("-a.example")),
        ("x=a-.example:80", .badHost("a-.example")),
        ("x=ho st:80", .badHost("ho st")),
        ("x=bücher.example:80", .badHost("bücher.example")),
        ("x=user@host:80", .badHost("user@host")),
        ("x=2001:db8::1:80", .badHost("2001:db8::1")),
        ("x=[2001:db8::1:80", .badHost("[2001:db8::1")),
        ("x=[fe80::1%wlan0]:80", .badHost("[fe80::1%wlan0]")),
        ("x=[192.0.2.1]:80", .badHost("[192.0.2.1]")),
        ("x=[]:80", .badHost("[]")),
        ("x=192.0.2.256:80", .badHost("192.0.2.256")),
        ("x=192.0.2:80", .badHost("192.0.2")),
        ("x=1:80", .badHost("1")),
    ])
    func refuses(setting: String, error: TargetError) {
        #expect(throws: error) { try Target(setting: setting) }
    }

    @Test func lengthsAreHeldTo() throws {
        let label = String(repeating: "a", count: 63)
        let longest = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(try Target(setting: "x=\(longest):1").host == longest)
        #expect(throws: TargetError.badHost(longest + "b")) { try Target(setting: "x=\(longest)b:1") }
        #expect(throws: TargetError.badHost(label + "a")) { try Target(setting: "x=\(label)a:1") }
        let name = String(repeating: "n", count: 32)
        #expect(try Target(setting: "\(name)=h:1").name == name)
        #expect(throws: TargetError.badName(name + "n")) { try Target(setting: "\(name)n=h:1") }
    }

    @Test func severalAreNamedApart() throws {
        #expect(try Target.all(" a=h:1\t b=h:1 \n").map(\.name) == ["a", "b"])
        #expect(try Target.all("").isEmpty)
        #expect(throws: TargetError.duplicateName("a")) { try Target.all("a=h:1 b=h:2 a=i:3") }
        let eight = (1...8).map { "t\($0)=h:\($0)" }.joined(separator: " ")
        #expect(try Target.all(eight).count == 8)
        #expect(throws: TargetError.tooMany(9)) { try Target.all(eight + " t9=h:9") }
    }

    @Test func errorsSayWhatToDoOnOneLine() {
        #expect(TargetError.badHost("a\u{1b}[2Jb").description.hasPrefix(#"'a\x1b[2Jb' is neither"#))
        #expect(TargetError.badScheme("ftp").description.contains("tcp, tls, http, https, mqtt, mqtts"))
        #expect(TargetError.malformed(String(repeating: "x", count: 9999)).description.count < 200)
    }

    /// However long the keep-alive is, an old word is no answer.
    @Test func whatWasHeardIsFreshForTenSecondsAtMost() {
        #expect(KeepAlive().freshness == .seconds(5))
        #expect(KeepAlive(idle: .seconds(9)).freshness == .seconds(10))
        #expect(KeepAlive(idle: .seconds(3600)).freshness == .seconds(10))
    }

    @Test func aMeteredConnectionIsCheckedLessOften() {
        let stretched = KeepAlive().stretched(by: 10)
        #expect(stretched.idle == .seconds(40) && stretched.application == .seconds(60))
        #expect(stretched.detection == .seconds(42))
        #expect(stretched.applicationLimit == KeepAlive().applicationLimit)
        #expect(KeepAlive().stretched(by: 1) == KeepAlive() && KeepAlive().stretched(by: 0) == KeepAlive())
    }

    @Test func aPingWaitsForTheKernelsProbes() {
        let settings = KeepAlive()
        #expect(settings.pause(afterSilence: .milliseconds(3999)) == nil)
        #expect(settings.pause(afterSilence: .seconds(4)) == .milliseconds(2750), "six seconds, and an eighth")
        #expect(settings.pause(afterSilence: .milliseconds(6749)) == .milliseconds(1))
        #expect(settings.pause(afterSilence: .milliseconds(6750)) == nil, "the kernel has ended it, or never will")
    }

    @Test func certificatesThatCannotBeReadAreSaidSo() {
        for path in ["/nowhere", "/dev/null", "/etc/passwd"] {
            #expect(throws: TrustError.unreadable(path: path)) { try TargetTrust(authorities: path) }
        }
    }
}

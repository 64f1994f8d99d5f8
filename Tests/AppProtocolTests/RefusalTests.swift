import AgentModel
import AppProtocol
import JSONValues
import Testing

/// A line that is no request is refused with the right code, keeps its id if it has one, and never repeats a password.
@Suite struct RefusalTests {
    struct Case: CustomTestStringConvertible {
        let line: String
        let code: ErrorCode
        let id: String?
        var field: String?

        var testDescription: String { String(line.prefix(100)) }

        init(_ line: String, _ code: ErrorCode, id: String? = nil, field: String? = nil) {
            self.line = line
            self.code = code
            self.id = id
            self.field = field
        }

        /// Whether a schema has a say: it is JSON, and is refused for more than how its text is written. A parser that
        /// reads numbers as `Double` takes 1.0000000000000001 for 1.
        var isJSON: Bool {
            (try? JSONValue(line)) != nil
                && (try? OutsideJSON.decode(JSONValue.self, from: Array(line.utf8), nesting: 512)) != nil
                && !line.contains("1.0000000000000001")
        }

        static func update(_ networks: String, _ code: ErrorCode, field: String? = nil) -> Case {
            Case(
                #"{"v":1,"id":"a","type":"backups.update","body":{"networks":"# + networks + "}}", code, id: "a",
                field: field)
        }

        static func answer(_ members: String?, id: String? = "7", field: String? = nil) -> Case {
            let body = [id.map { #""id":\#($0)"# }, members].compactMap(\.self).joined(separator: ",")
            return Case(
                #"{"v":1,"id":"a","type":"portal.answer","body":{"# + body + "}}", .malformed, id: "a", field: field)
        }
    }

    /// A user's credential with these members, without an authority unless they say it.
    private static func user(_ method: String, _ members: String...) -> String {
        #"{"method":"\#(method)","identity":"hunter2","# + members.joined(separator: ",") + "}"
    }

    private static let password = #""password":"hunter2hunter2""#
    private static let authority =
        #""caCertificate":"-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----""#

    /// Addresses that are written as such and that no host can have there, each with the member at fault.
    static let impossibleAddresses: [(String, String)] = [
        (#"{"address":"192.168.1.20/7"}"#, "address"), (#"{"address":"192.168.1.20/33"}"#, "address"),
        (#"{"address":"192.168.1.20/024"}"#, "address"), (#"{"address":"192.168.1.020/24"}"#, "address"),
        (#"{"address":"192.168.1.20/-1"}"#, "address"), (#"{"address":"192.168.1.20/24/24"}"#, "address"),
        (#"{"address":"/24"}"#, "address"), (#"{"address":"2001:db8::1/64"}"#, "address"),
        (#"{"address":"0.0.0.0/8"}"#, "address"), (#"{"address":"127.0.0.1/8"}"#, "address"),
        (#"{"address":"240.0.0.1/8"}"#, "address"), (#"{"address":"192.168.1.0/24"}"#, "address"),
        (#"{"address":"192.168.1.255/24"}"#, "address"),
        (#"{"address":"192.168.1.20/24","gateway":"192.168.1.20"}"#, "gateway"),
        (#"{"address":"192.168.1.20/24","gateway":"192.168.2.1"}"#, "gateway"),
        (#"{"address":"192.168.1.20/24","gateway":"192.168.1.255"}"#, "gateway"),
        (#"{"address":"192.168.1.20/24","gateway":"2001:db8::1"}"#, "gateway"),
        (#"{"address":"192.168.1.20/24","nameServers":["9.9.9.9","ff02::1"]}"#, "nameServers[1]"),
        (#"{"address":"192.168.1.20/24","nameServers":["0.1.1.1"]}"#, "nameServers[0]"),
        (#"{"address":"192.168.1.20/24","nameServers":["9.9.9.9","9.9.9.9","9.9.9.9","9.9.9.9"]}"#, "nameServers"),
    ]

    @Test(arguments: impossibleAddresses)
    func anImpossibleAddressIsRefused(_ address: String, _ member: String) throws {
        let hash = #"{"hash":"\#(Self.hash)","address":\#(address)}"#
        let open = #"{"ssid":"a","security":"open","address":\#(address)}"#
        for (type, body, field) in [
            (
                "backups.update", #"{"networks":[\#(open.replacing(address, with: "null")),\#(hash)]}"#,
                "body.networks[1]"
            ),
            ("backups.update", #"{"networks":[\#(open)]}"#, "body.networks[0]"), ("network.switch", open, "body"),
        ] {
            let line = #"{"v":1,"id":"a","type":"\#(type)","body":\#(body)}"#
            let rejected = #expect(throws: RejectedRequest.self) { try Request(line: Array(line.utf8)) }
            #expect(rejected?.id == "a")
            #expect(rejected?.error.code == .invalidAddress, "\(line)")
            #expect(rejected?.error.details == ["field": .text("\(field).address.\(member)")], "\(line)")
        }
    }

    @Test func whatIsNoAddressIsMalformed() throws {
        for (members, field) in [
            (#""address":{"address":"192.168.1.20/24","gateway":"router"}"#, "address.gateway"),
            (#""address":{"address":"192.168.1.20/24","nameServers":["fe80::1%wlan0"]}"#, "address.nameServers[0]"),
            (#""address":{"address":"192.168.1.20/24"},"dhcp":true"#, "dhcp"),
        ] {
            let line =
                #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[{"hash":"\#(Self.hash)",\#(members)}]}}"#
            let rejected = #expect(throws: RejectedRequest.self) { try Request(line: Array(line.utf8)) }
            #expect(rejected?.error.code == .malformed)
            #expect(rejected?.error.details == ["field": .text("body.networks[0].\(field)")])
        }
    }

    @Test func readsOptions() throws {
        let hash = try #require(NetworkHash(base64: Self.hash))
        func update(_ entry: String) throws -> BackupsUpdate? {
            let line = #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[\#(entry)]}}"#
            guard case .device(.updateBackups(let update)) = try Request(line: Array(line.utf8)).content else {
                return nil
            }
            return update
        }
        func change(_ members: String) throws -> NetworkOptions.Change? {
            try update(#"{"hash":"\#(Self.hash)"\#(members)}"#)?.options[hash]
        }
        #expect(try change("") == nil)
        #expect(try change(#","allowTkip":null"#) == nil)
        #expect(try change(#","allowTkip":true"#) == .init(allowsTKIP: true))
        #expect(try change(#","automatic":false,"allowTkip":false"#) == .init(allowsTKIP: false, isAutomatic: false))
        func options(_ members: String) throws -> NetworkOptions? {
            guard case .new(let network)? = try update(#"{"ssid":"a",\#(members)}"#)?.networks.first else { return nil }
            return network.options
        }
        #expect(try options(#""password":"12345678""#) == NetworkOptions())
        #expect(try options(#""password":"12345678","allowTkip":true"#) == NetworkOptions(allowsTKIP: true))
        #expect(try options(#""security":"open","automatic":false"#) == NetworkOptions(isManual: true))
        for members in [
            #""security":"open","allowTkip":true"#, #""password":"1","security":"wpa3-sae","allowTkip":true"#,
        ] {
            let rejected = #expect(throws: RejectedRequest.self) { try options(members) }
            #expect(rejected?.error.code == .unsupported)
            #expect(rejected?.error.details == ["field": .text("body.networks[0].allowTkip")])
        }
        let rejected = #expect(throws: RejectedRequest.self) { try change(#","automatic":"no""#) }
        #expect(rejected?.error.code == .malformed)
        #expect(rejected?.error.details == ["field": .text("body.networks[0].automatic")])
    }

    private func change(_ members: String) throws -> NetworkOptions.Change? {
        let hash = try #require(NetworkHash(base64: Self.hash))
        let line =
            #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[{"hash":"\#(Self.hash)",\#(members)}]}}"#
        guard case .device(.updateBackups(let update)) = try Request(line: Array(line.utf8)).content else { return nil }
        return update.options[hash]
    }

    @Test func readsOptionsWithValues() throws {
        #expect(try change(#""metered":true"#) == .init(isMetered: .to(true)))
        #expect(try change(#""metered":false"#) == .init(isMetered: .to(false)))
        #expect(try change(#""metered":"auto","band":"any""#) == .init(isMetered: .unset, band: .unset))
        for (text, band) in [("2.4", Band.twoPointFour), ("5", .five), ("6", .six)] {
            #expect(try change(#""band":"\#(text)""#) == .init(band: .to(band)))
        }
        let bssid = try #require(BSSID("02:00:00:00:01:0a"))
        #expect(try change(#""bssid":"02:00:00:00:01:0A""#) == .init(bssid: .to(bssid)))
        #expect(try change(#""bssid":"any""#) == .init(bssid: .unset))
        let server = try #require(IPAddress("2001:db8::53"))
        let ipv6 = try StaticAddress("2001:db8::20/64", gateway: IPAddress("fe80::1"), nameServers: [server])
        let members = #"{"address":"2001:db8::20/64","gateway":"fe80::1","nameServers":["2001:db8::53"]}"#
        #expect(try change(#""ipv6":\#(members)"#) == .init(ipv6: .to(ipv6)))
        #expect(try change(#""ipv6":\#(members),"slaac":false"#) == .init(ipv6: .to(ipv6)))
        #expect(try change(#""slaac":true"#) == .init(ipv6: .unset))
        #expect(try change(#""metered":null,"band":null,"bssid":null,"ipv6":null,"slaac":false"#) == nil)
    }

    @Test(arguments: [
        (#""metered":"yes""#, "metered", ErrorCode.malformed), (#""metered":1"#, "metered", .malformed),
        (#""band":"5 GHz""#, "band", .malformed), (#""band":5"#, "band", .malformed),
        (#""band":"""#, "band", .malformed), (#""bssid":"""#, "bssid", .malformed),
        (#""bssid":"00:00:00:00:00:00""#, "bssid", .malformed), (#""bssid":"03:00:00:00:00:01""#, "bssid", .malformed),
        (#""bssid":"02-00-00-00-00-01""#, "bssid", .malformed), (#""slaac":"yes""#, "slaac", .malformed),
        (#""ipv6":{"address":"2001:db8::20/64"},"slaac":true"#, "slaac", .malformed),
        (#""ipv6":"2001:db8::20/64""#, "ipv6", .malformed),
        (#""ipv6":{"address":"192.168.1.20/24"}"#, "ipv6.address", .invalidAddress),
        (#""ipv6":{"address":"192.168.1.20/24","gateway":"192.168.1.1"}"#, "ipv6.address", .invalidAddress),
        (#""ipv6":{"address":"2001:db8::20"}"#, "ipv6.address", .invalidAddress),
        (#""ipv6":{"address":"2001:db8::20/129"}"#, "ipv6.address", .invalidAddress),
        (#""ipv6":{"address":"fe80::20/64"}"#, "ipv6.address", .invalidAddress),
        (#""ipv6":{"address":"2001:db8::20/64","gateway":"2001:db9::1"}"#, "ipv6.gateway", .invalidAddress),
        (#""ipv6":{"address":"2001:db8::20/64","nameServers":["::"]}"#, "ipv6.nameServers[0]", .invalidAddress),
        (#""address":{"address":"2001:db8::20/64"}"#, "address.address", .invalidAddress),
        (#""address":{"address":"2001:db8::20/64","gateway":"2001:db8::1"}"#, "address.address", .invalidAddress),
    ])
    func refusesImpossibleOptions(members: String, field: String, code: ErrorCode) throws {
        let rejected = #expect(throws: RejectedRequest.self) { try change(members) }
        #expect(rejected?.error.code == code)
        #expect(rejected?.error.details == ["field": .text("body.networks[0].\(field)")])
    }

    @Test func optionsOverABrokerNeedAProof() throws {
        let hash = try #require(NetworkHash(base64: Self.hash))
        let update = Request.Body.updateBackups(
            BackupsUpdate(networks: [.stored(hash)], options: [hash: .init(allowsTKIP: true)]))
        #expect(update.refusal(toRelayOf: .manage, isProved: false)?.code == .proofRequired)
        #expect(update.refusal(toRelayOf: .manage, isProved: true) == nil)
        let other = try #require(NetworkHash(base64: String(repeating: "A", count: 43) + "="))
        guard case .updateBackups(let named) = try update.naming({ (_) throws(ProtocolError) in other }) else {
            Issue.record("another request")
            return
        }
        #expect(named.options == [other: .init(allowsTKIP: true)])
    }

    @Test func sealIncludesOptions() throws {
        func text(_ options: NetworkOptions = .init()) throws -> [Substring] {
            let network = NewNetwork(ssid: try SSID("a"), password: Secret(text: "12345678"), options: options)
            return SealContext(of: network, in: BackupsUpdate(networks: [.new(network)])).text(deviceId: "d")
                .split(separator: "\n")
        }
        let plain = try text()
        #expect(plain.count == 11)
        #expect(try text(.init(allowsTKIP: true)) == plain + ["allowTkip=1"])
        #expect(try text(.init(isMetered: false)) == plain + ["metered=0"])
        let ipv6 = try StaticAddress(
            "2001:db8::20/64", gateway: IPAddress("fe80::1"),
            nameServers: ["2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) })
        let all = NetworkOptions(
            allowsTKIP: true, isManual: true, isMetered: true, band: .twoPointFour, bssid: BSSID("02:00:00:00:01:00"),
            ipv6: ipv6)
        #expect(
            try text(all) == plain + [
                "allowTkip=1", "automatic=0", "metered=1", "band=2.4", "bssid=02:00:00:00:01:00",
                "ipv6=2001:db8::20/64 fe80::1 2001:db8::53,9.9.9.9",
            ])
        #expect(try text(.init(ipv6: try StaticAddress("2001:db8::20/64"))) == plain + ["ipv6=2001:db8::20/64  "])
    }

    /// A null is the same as nothing, and a switch to a stored network does not look at the address.
    @Test func whatIsSaidOfAnAddress() throws {
        let hash = try #require(NetworkHash(base64: Self.hash))
        func addressing(_ members: String) throws -> Addressing? {
            let entry = #"{"hash":"\#(Self.hash)"\#(members)}"#
            let line = #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[\#(entry)]}}"#
            guard case .device(.updateBackups(let update)) = try Request(line: Array(line.utf8)).content else {
                return nil
            }
            #expect(update.networks == [.stored(hash)])
            return update.addressing[hash]
        }
        let address = try StaticAddress("192.168.1.20/24", gateway: IPAddress("192.168.1.1"))
        #expect(try addressing("") == nil)
        #expect(try addressing(#","address":null,"dhcp":null"#) == nil)
        #expect(try addressing(#","dhcp":false"#) == nil)
        #expect(try addressing(#","dhcp":true"#) == .dhcp)
        #expect(
            try addressing(#","address":{"address":"192.168.1.20/24","gateway":"192.168.1.1","more":1}"#)
                == .fixed(address))
        let stored = #"{"v":1,"id":"a","type":"network.switch","body":{"hash":"\#(Self.hash)","address":7}}"#
        #expect(
            try Request(line: Array(stored.utf8)).content
                == .device(.switchNetwork(SwitchRequest(target: .stored(hash)))))
    }

    /// A request with a member that nests so many levels deep; the line's own object is one more.
    static func nested(_ levels: Int) -> String {
        #"{"v":1,"id":"a","type":"network.get","x":"# + String(repeating: "[", count: levels)
            + String(repeating: "]", count: levels) + "}"
    }

    /// 112 bytes, and an object with them that could be a sealed password.
    static let box = String(repeating: "AAAA", count: 37) + "AA=="
    static let proof = String(repeating: "AAAA", count: 10) + "AAA="
    static let sealed = #"{"keyId":"k","box":"\#(box)","proof":"\#(proof)"}"#
    static let hash = "xAlkLe0m4kJHlLpdKmnRsJ4vYlX2DOp4T5Gg2vOa0yk="

    /// Numbers that no member can have, each where one is asked for.
    static let noWholeNumbers = [
        "1.5", #""5""#, "1e400", "99999999999999999999", "10e9223372036854775807", "true", "[]",
    ]
    .flatMap { number in
        [
            Case(#"{"v":\#(number),"id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
            body("backups.update", #""networks":[],"ifRevision":\#(number)"#, field: "body.ifRevision"),
            body("network.switch", #""hash":"\#(hash)","confirmWithin":\#(number)"#, field: "body.confirmWithin"),
            body("scan.start", #""frequencies":[2412,\#(number)]"#, field: "body.frequencies[1]"),
            body("events.subscribe", #""since":\#(number)"#, field: "body.since"),
            body("history.get", #""limit":\#(number)"#, field: "body.limit"),
            body("portal.answer", #""id":\#(number),"cancel":true"#, field: "body.id"),
        ]
    }

    private static func body(_ type: String, _ members: String, field: String) -> Case {
        Case(#"{"v":1,"id":"a","type":"\#(type)","body":{\#(members)}}"#, .malformed, id: "a", field: field)
    }

    static let cases = [
        Case("", .malformed), Case("garbage", .malformed), Case("{", .malformed), Case("[]", .malformed),
        Case("null", .malformed), Case("42", .malformed), Case("\"text\"", .malformed), Case("{}", .malformed),
        Case(#"{"v":1,"type":"network.get"}"#, .malformed, field: "id"),
        Case(#"{"v":1,"id":7,"type":"network.get"}"#, .malformed, field: "id"),
        Case(#"{"v":1,"id":"","type":"network.get"}"#, .malformed, field: "id"),
        Case(#"{"v":1,"id":"\#(String(repeating: "x", count: 65))","type":"network.get"}"#, .malformed, field: "id"),
        Case(#"{"id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
        Case(#"{"v":"1","id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
        Case(#"{"v":2,"id":"a","type":"network.get"}"#, .unsupportedVersion, id: "a"),
        Case(#"{"v":1e400,"id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
        Case(#"{"v":10e9223372036854775807,"id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
        Case(#"{"v":1.0000000000000001,"id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
        Case(#"{"v":1,"id":"a","type":"network.get",}"#, .malformed),
        Case("\u{feff}{\"v\":1,\"id\":\"a\",\"type\":\"network.get\"}", .malformed),
        Case(#"{"v":null,"id":"a","type":"network.get"}"#, .malformed, id: "a", field: "v"),
        body("portal.answer", #""id":null,"cancel":true"#, field: "body.id"),
        body("events.subscribe", #""since":-1"#, field: "body.since"),
        Case(#"{"v":1,"id":"a"}"#, .malformed, id: "a", field: "type"),
        Case(#"{"v":1,"id":"a","type":"wifi.hack"}"#, .unknownType, id: "a"),
        Case(#"{"v":1,"id":"a","type":"backups.update"}"#, .malformed, id: "a", field: "body"),
        Case(#"{"v":1,"id":"a","type":"backups.update","body":{}}"#, .malformed, id: "a", field: "body.networks"),
        Case(#"{"v":1,"id":"a","type":"backups.update","body":[]}"#, .malformed, id: "a", field: "body"),
        .update("7", .malformed, field: "body.networks"),
        .update("[7]", .malformed, field: "body.networks[0]"),
        .update("[{}]", .malformed, field: "body.networks[0].ssid"),
        .update(#"[{"hash":"short"}]"#, .malformed, field: "body.networks[0].hash"),
        .update(#"[{"ssid":"a","password":7}]"#, .malformed, field: "body.networks[0].password"),
        .update(#"[{"ssid":"a","ssidHex":"61","password":"12345678"}]"#, .malformed, field: "body.networks[0].ssid"),
        .update(#"[{"ssidHex":"6","password":"12345678"}]"#, .malformed, field: "body.networks[0].ssidHex"),
        .update(#"[{"ssid":"","password":"12345678"}]"#, .invalidSsid, field: "body.networks[0].ssid"),
        .update(#"[{"ssid":"123456789012345678901234567890123","password":"12345678"}]"#, .invalidSsid),
        .update(#"[{"ssidHex":"","password":"12345678"}]"#, .invalidSsid, field: "body.networks[0].ssidHex"),
        .update(#"[{"ssid":"a"}]"#, .passwordMissing, field: "body.networks[0].password"),
        .update(
            #"[{"ssid":"a","security":"open","address":"192.168.1.20/24"}]"#, .malformed,
            field: "body.networks[0].address"),
        .update(
            #"[{"ssid":"a","security":"open","address":{}}]"#, .malformed, field: "body.networks[0].address.address"),
        .update(
            #"[{"hash":"\#(hash)","address":{"address":"192.168.1.20"}}]"#, .invalidAddress,
            field: "body.networks[0].address.address"),
        .update(#"[{"hash":"\#(hash)","dhcp":1}]"#, .malformed, field: "body.networks[0].dhcp"),
        .update(#"[{"ssid":"a","password":"hunter2"}]"#, .invalidPassword, field: "body.networks[0].password"),
        .update(#"[{"ssid":"a","password":"hunter2\u0000"}]"#, .invalidPassword),
        .update(#"[{"ssid":"a","password":"hunter2hunter2","security":"open"}]"#, .invalidPassword),
        .update(#"[{"ssid":"a","password":"hunter2hunter2","security":"owe"}]"#, .invalidPassword),
        .update(
            #"[{"ssid":"a","password":"hunter2hunter2","sealed":\#(sealed)}]"#, .malformed,
            field: "body.networks[0].password"),
        .update(
            #"[{"ssid":"a","sealed":\#(sealed),"security":"open"}]"#, .invalidPassword,
            field: "body.networks[0].sealed"),
        .update(#"[{"sealed":\#(sealed)}]"#, .malformed, field: "body.networks[0].ssid"),
        .update(#"[{"ssid":"a","sealed":"hunter2"}]"#, .malformed, field: "body.networks[0].sealed"),
        .update(#"[{"ssid":"a","sealed":{}}]"#, .malformed, field: "body.networks[0].sealed.box"),
        .update(#"[{"ssid":"a","sealed":{"box":"\#(box)"}}]"#, .malformed, field: "body.networks[0].sealed.keyId"),
        .update(
            #"[{"ssid":"a","sealed":{"keyId":"","box":"\#(box)","proof":"\#(proof)"}}]"#, .malformed,
            field: "body.networks[0].sealed"),
        .update(
            #"[{"ssid":"a","sealed":{"keyId":"k","box":"hunter2","proof":"\#(proof)"}}]"#, .malformed,
            field: "body.networks[0].sealed"),
        .update(
            #"[{"ssid":"a","sealed":{"keyId":"k","box":"\#(box.dropLast(4))","proof":"\#(proof)"}}]"#, .malformed,
            field: "body.networks[0].sealed"),
        .update(
            #"[{"ssid":"a","sealed":{"keyId":"k","box":"\#(box)"}}]"#, .malformed,
            field: "body.networks[0].sealed.proof"),
        .update(#"[{"ssid":"a","enterprise":7}]"#, .malformed, field: "body.networks[0].enterprise"),
        .update(#"[{"ssid":"a","enterprise":{}}]"#, .malformed, field: "body.networks[0].enterprise.method"),
        .update(#"[{"ssid":"a","enterprise":\#(user("peap", #""x":1"#))}]"#, .invalidEnterprise),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("md5", password, authority))}]"#, .malformed,
            field: "body.networks[0].enterprise.method"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password))}]"#, .invalidEnterprise,
            field: "body.networks[0].enterprise.caCertificate"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, #""systemAuthorities":true"#))}]"#,
            .invalidEnterprise,
            field: "body.networks[0].enterprise.serverName"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, #""systemAuthorities":false"#))}]"#,
            .invalidEnterprise, field: "body.networks[0].enterprise.caCertificate"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("ttls", authority))}]"#, .invalidEnterprise,
            field: "body.networks[0].enterprise.password"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, authority, #""inner":"pap""#))}]"#,
            .invalidEnterprise, field: "body.networks[0].enterprise.inner"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("tls", password, authority))}]"#, .invalidEnterprise,
            field: "body.networks[0].enterprise.password"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, #""caCertificate":"hunter2hunter2""#))}]"#,
            .invalidEnterprise, field: "body.networks[0].enterprise.caCertificate"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, authority, #""serverName":"*.a""#))}]"#,
            .invalidEnterprise, field: "body.networks[0].enterprise.serverName"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, authority)),"security":"wpa2-psk"}]"#, .unsupported,
            field: "body.networks[0].security"),
        .update(
            #"[{"ssid":"a","enterprise":\#(user("peap", password, authority)),"password":"hunter2hunter2"}]"#,
            .malformed,
            field: "body.networks[0].enterprise"),
        .update(
            #"[{"ssid":"a","enterprise":{"sealed":\#(sealed)}}]"#, .malformed,
            field: "body.networks[0].enterprise.sealed"),
        .update(#"[{"ssid":"a","security":"enterprise"}]"#, .unsupported, field: "body.networks[0].security"),
        .update(#"[{"ssid":"a","sealed":\#(sealed),"security":"wep"}]"#, .unsupported),
        .update(#"[{"ssid":"a","password":"hunter2hunter2","security":"wep"}]"#, .unsupported),
        .update(
            "[" + Array(repeating: #"{"ssid":"a","security":"open"}"#, count: 65).joined(separator: ",") + "]",
            .tooManyNetworks),
        Case(#"{"v":1,"id":"a","type":"network.switch"}"#, .malformed, id: "a", field: "body"),
        Case(
            #"{"v":1,"id":"a","type":"network.switch","body":{"hash":"\#(hash)","joinOnce":7}}"#, .malformed,
            id: "a", field: "body.joinOnce"),
        Case(
            #"{"v":1,"id":"a","type":"network.switch","body":{"hash":"\#(hash)","confirmWithin":4}}"#, .malformed,
            id: "a", field: "body.confirmWithin"),
        Case(
            #"{"v":1,"id":"a","type":"network.switch","body":{"hash":"\#(hash)","confirmWithin":601}}"#, .malformed,
            id: "a", field: "body.confirmWithin"),
        Case(
            #"{"v":1,"id":"a","type":"network.switch","body":{"hash":"\#(hash)","confirmWithin":"30"}}"#, .malformed,
            id: "a", field: "body.confirmWithin"),
        Case(#"{"v":1,"id":"a","type":"switch.confirm"}"#, .malformed, id: "a", field: "body"),
        Case(#"{"v":1,"id":"a","type":"switch.get","body":{}}"#, .malformed, id: "a", field: "body.switchId"),
        Case(
            #"{"v":1,"id":"a","type":"scan.start","body":{"frequencies":["2412"]}}"#, .malformed, id: "a",
            field: "body.frequencies[0]"),
        Case(
            #"{"v":1,"id":"a","type":"scan.start","body":{"frequencies":[2412,-1]}}"#, .malformed, id: "a",
            field: "body.frequencies[1]"),
        Case(#"{"v":1,"id":"a","type":"portal.answer"}"#, .malformed, id: "a", field: "body"),
        body("targets.update", "", field: "body.targets"),
        body("targets.update", #""reset":false"#, field: "body.targets"),
        body("targets.update", #""targets":[],"reset":true"#, field: "body.targets"),
        body("targets.update", #""targets":{}"#, field: "body.targets"),
        body("targets.update", #""targets":[{"name":"a"}]"#, field: "body.targets[0].url"),
        body("targets.update", #""targets":[{"name":"","url":"h:1"}]"#, field: "body.targets[0].name"),
        body(
            "targets.update", #""targets":[{"name":"a","url":"\#(String(repeating: "h", count: 321))"}]"#,
            field: "body.targets[0].url"),
        body(
            "targets.update",
            #""targets":[\#((1...9).map { #"{"name":"t\#($0)","url":"h:1"}"# }.joined(separator: ","))]"#,
            field: "body.targets"),
        body("rescue.open", #""button":"yes""#, field: "body.button"),
        body("password.stage", #""ssid":"Attic","password":"hunter2hunter2""#, field: "body.changeId"),
        body("password.stage", #""changeId":"","ssid":"Attic","password":"hunter2hunter2""#, field: "body.changeId"),
        body(
            "password.stage", #""changeId":"a","keepFor":59,"ssid":"Attic","password":"hunter2hunter2""#,
            field: "body.keepFor"),
        body("password.drop", "", field: "body.changeId"),
        body("providers.set", #""provider":"click-through""#, field: "body.on"),
        body("providers.set", #""provider":"","on":true"#, field: "body.provider"),
        body("providers.set", #""provider":"a","on":"false""#, field: "body.on"),
        body("name.set", #""clear":false"#, field: "body.name"),
        body("name.set", #""clear":true,"name":"Lamp""#, field: "body.name"),
        body("name.set", #""name":7"#, field: "body.name"),
        body("name.set", #""name":"  ""#, field: "body.name"),
        body("name.set", #""name":"a\u202eb""#, field: "body.name"),
        .answer(#""values":{}"#, id: nil, field: "body.id"),
        .answer(#""values":{}"#, id: "7.5", field: "body.id"), .answer(#""values":{}"#, id: #""7""#, field: "body.id"),
        .answer(nil, field: "body.values"),
        .answer(#""cancel":false"#, field: "body.values"),
        .answer(#""cancel":true,"values":{"pin":"hunter2"}"#, field: "body.values"),
        .answer(#""values":["hunter2"]"#, field: "body.values"),
        .answer(#""values":"hunter2""#, field: "body.values"),
        .answer(#""values":{"hunter2":7}"#, field: "body.values"), .answer(#""values":{"hunter2":null}"#),
        .answer(#""values":{"terms":true}"#), .answer(#""values":{"a":{"b":"hunter2"}}"#),
        .answer(#""values":{"":"hunter2"}"#, field: "body.values"),
        .answer(#""values":{"\#(String(repeating: "n", count: 129))":"hunter2"}"#, field: "body.values"),
        .answer(#""values":{"pin":"hunter2\#(String(repeating: "x", count: 1018))"}"#, field: "body.values"),
        .answer(
            #""values":{"# + (0...16).map { #""n\#($0)":"hunter2""# }.joined(separator: ",") + "}",
            field: "body.values"),
        Case(
            #"{"v":1,"id":"a","type":"history.get","body":{"limit":"all"}}"#, .malformed, id: "a", field: "body.limit"),
        Case(#"{"v":1,"id":"\ud800","type":"network.get"}"#, .malformed),
        Case("{\"v\":1,\"id\":\"a\",\"type\":\"network.get\"}\0", .malformed),
        Case(nested(ProtocolLimits.nesting), .malformed),
        Case(nested(500), .malformed), Case(nested(30_000), .malformed),
        Case(String(repeating: "[", count: ProtocolLimits.lineLength), .malformed),
        Case(String(repeating: #"{"":["#, count: ProtocolLimits.lineLength / 5), .malformed),
        Case(String(repeating: "]", count: ProtocolLimits.lineLength), .malformed),
        Case(String(repeating: #"{"v":"#, count: 10_000), .malformed),
        Case(String(repeating: "x", count: ProtocolLimits.lineLength + 1), .lineTooLong),
    ]

    @Test(arguments: cases + noWholeNumbers)
    func isRefused(_ refused: Case) {
        do {
            let request = try Request(line: Array(refused.line.utf8))
            Issue.record("accepted as \(request.type)")
        } catch {
            #expect(error.error.code == refused.code)
            #expect(error.id == refused.id)
            if let field = refused.field { #expect(error.error.details["field"] == .text(field)) }
            #expect(!"\(error)".contains("hunter2"))
        }
    }

    /// A program can look its own member up under the name that the error gives.
    @Test(arguments: cases + noWholeNumbers)
    func whatIsNamedIsAPath(_ refused: Case) throws {
        let error = #expect(throws: RejectedRequest.self) { try Request(line: Array(refused.line.utf8)) }
        guard case .text(let field)? = error?.error.details["field"] else { return }
        #expect(field.wholeMatch(of: /v|id|type|body((\.[A-Za-z]+)(\[[0-9]+\])?)*/) != nil, "\(field)")
        #expect(error?.error.message.contains("a JSON object") == false)
    }

    @Test(arguments: ["[]", "42", #""text""#, "null", "garbage"])
    func whatIsNoObjectIsSaidToBeNone(line: String) {
        let error = #expect(throws: RejectedRequest.self) { try Request(line: Array(line.utf8)) }
        #expect(error?.error.code == .malformed && error?.error.details.isEmpty == true)
        #expect(error?.error.message.contains("JSON") == true)
    }

    @Test func tooManyNetworksAreCounted() {
        let networks = Array(repeating: #"{"ssid":"a","security":"open"}"#, count: 65).joined(separator: ",")
        let line = #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[\#(networks)]}}"#
        let error = #expect(throws: RejectedRequest.self) { try Request(line: Array(line.utf8)) }
        #expect(error?.error.details == ["max": 64, "count": 65])
    }

    @Test(arguments: ["1.0", "1e0", "10e-1", "1"])
    func whatIsWholeIsTaken(number: String) throws {
        let line = #"{"v":\#(number),"id":"a","type":"history.get","body":{"limit":\#(number)}}"#
        let request = try Request(line: Array(line.utf8))
        #expect(request.content == .device(.getHistory(HistoryQuery(limit: 1))))
    }

    @Test func invalidUTF8IsRefused() {
        let line = Array(#"{"v":1,"id":""#.utf8) + [0xff, 0xfe] + Array(#"","type":"network.get"}"#.utf8)
        #expect(throws: RejectedRequest.self) { try Request(line: line) }
        let skipped = Array(#"{"v":1,"id":"a","type":"network.get","x":""#.utf8) + [0xc0] + Array(#""}"#.utf8)
        #expect(throws: RejectedRequest.self) { try Request(line: skipped) }
    }

    @Test(arguments: [
        #"{"v":1,"id":"a","type":"network.get","body":null,"extra":{"deep":[1,2,3]}}"#,
        #"{"v":1,"id":"a","type":"network.get","body":"anything"}"#,
        "{\"v\":1,\"id\":\"a\",\"type\":\"network.get\"}\r",
        nested(ProtocolLimits.nesting - 1),
        #"{"v":1,"id":"a","type":"network.get","x":"\#(String(repeating: "[{", count: 200))"}"#,
        #"{"v":1,"id":"a","type":"network.get","x":"\"\#(String(repeating: #"\\\"["#, count: 200))"}"#,
        #"{"v":1,"id":"a","type":"network.get","x":[\#(Array(repeating: "[]", count: 200).joined(separator: ","))]}"#,
        #"  { "v" : 1.0 , "id" : "a", "type" : "network.get" }  "#,
    ])
    func whatDoesNotMatterIsIgnored(line: String) throws {
        #expect(try Request(line: Array(line.utf8)) == Request(id: "a", content: .device(.getNetwork)))
    }

    @Test func aPasswordMakesAnEntryNewEvenBesideItsHash() throws {
        let line = #"{"v":1,"id":"a","type":"network.switch","body":{"hash":"?","ssid":"A","password":"12345678"}}"#
        let expected = NewNetwork(ssid: try SSID("A"), password: Secret(text: "12345678"))
        #expect(
            try Request(line: Array(line.utf8)).content
                == .device(.switchNetwork(SwitchRequest(target: .new(expected)))))
    }

    // covers: seed/join-once
    @Test(arguments: [("false", false), ("null", false), ("true", true)])
    func joinOnceIsReadAndWritten(text: String, joinOnce: Bool) throws {
        let line =
            #"{"v":1,"id":"a","type":"network.switch","body":{"ssid":"A","security":"open","joinOnce":\#(text)}}"#
        let target = NewNetwork(ssid: try SSID("A"), credential: .none, security: .open)
        let request = try Request(line: Array(line.utf8))
        #expect(
            request.content
                == .device(.switchNetwork(SwitchRequest(target: .new(target), joinOnce: joinOnce))))
        #expect(try Request(line: request.line()) == request)
    }

    /// An entry of backups.get can be sent back as it is: the hash names the network.
    @Test(arguments: [#""open""#, #""owe""#, #""wpa2-psk""#, #""enterprise""#, #""unknown""#, #""wpa9""#, "7", "{}"])
    func anEntryOfTheListIsAReference(security: String) throws {
        let line =
            #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[{"ssid":"A","hash":"\#(Self.hash)","#
            + #""security":\#(security),"hidden":true,"lastSignal":-60}]}}"#
        let expected = NetworkReference.stored(try #require(NetworkHash(base64: Self.hash)))
        #expect(
            try Request(line: Array(line.utf8)).content
                == .device(.updateBackups(BackupsUpdate(networks: [expected]))))
    }

    @Test(arguments: ["wpa2-psk", "wpa3-sae", "wpa2-wpa3"])
    func securityIsKept(security: String) throws {
        for credential in [#""password":"12345678""#, #""sealed":\#(Self.sealed)"#] {
            let line =
                #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[{"ssid":"A","security":"\#(security)","#
                + credential + "}]}}"
            let request = try Request(line: Array(line.utf8))
            guard case .device(.updateBackups(let update)) = request.content,
                case .new(let network)? = update.networks.first
            else {
                Issue.record("no new network")
                continue
            }
            #expect(network.security?.rawValue == security)
            #expect(try Request(line: request.line()) == request)
        }
    }
}

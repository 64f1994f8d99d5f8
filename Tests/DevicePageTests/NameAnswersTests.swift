import DNS
import Testing

@testable import DevicePage

@Suite struct NameAnswersTests {
    private let answers = NameAnswers(address: [192, 168, 4, 1])

    private func ask(_ name: String, _ type: DNSRecordType = .ipv4) throws -> DNSMessage? {
        let question = DNSQuestion(try #require(DNSName(name)), type)
        let query = DNSMessage(asking: [question], id: 0x1234, recursively: true)
        guard let reply = answers.answer(query.query) else { return nil }
        #expect(reply.count <= query.query.count + 16)
        let message = try DNSMessage(reading: reply)
        #expect(message.id == 0x1234 && message.isResponse && message.questions == [question])
        return message
    }

    @Test func everyNameIsTheDevice() throws {
        for name in ["captive.apple.com", "x", "WWW.EXAMPLE.COM", "local.example.com", "notlocal"] {
            let answer = try #require(try ask(name))
            #expect(answer.responseCode == .success)
            #expect(answer.answers.map(\.data) == [.ipv4([192, 168, 4, 1])])
            // It is not to be believed anywhere else, or later.
            #expect(answer.answers.allSatisfy { $0.timeToLive == 0 } && answer.answers.first?.name == DNSName(name))
        }
    }

    @Test(arguments: [DNSRecordType.ipv6, .service, .pointer, .text, DNSRecordType(rawValue: 65)])
    func thereIsNothingButThat(type: DNSRecordType) throws {
        let answer = try #require(try ask("captive.apple.com", type))
        #expect(answer.responseCode == .success && answer.answers.isEmpty)
    }

    @Test(arguments: ["kitchen.local", "LOCAL", "_http._tcp.Local", "use-application-dns.net"])
    func theseNamesAreUnknown(name: String) throws {
        let answer = try #require(try ask(name))
        #expect(answer.responseCode == .unknownName && answer.answers.isEmpty)
    }

    @Test func whatIsNoQuestionIsNotAnswered() throws {
        let question = DNSQuestion(try #require(DNSName("a.b")), .ipv4)
        let query = DNSMessage(asking: [question], id: 1).query
        var response = query
        response[2] |= 0x80
        #expect(answers.answer(response) == nil)
        #expect(answers.answer(DNSMessage(asking: [question, question], id: 1).query) == nil)
        #expect(answers.answer([]) == nil && answers.answer(query.dropLast()) == nil)
        #expect(answers.answer(query + Array(repeating: 0, count: 1300)) == nil)
        var update = query
        update[2] = 0x28
        let refusal = try DNSMessage(reading: try #require(answers.answer(update)))
        #expect(refusal.responseCode.rawValue == 4)
    }
}

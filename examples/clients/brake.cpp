// An autonomy in C++ without any library: it drives a loop of Resweep over a socket (docs/drive.md has the messages).
//
//   c++ -std=c++17 -O2 examples/clients/brake.cpp -o brake
//   resweep drive hidden-car --autonomy tcp:5555 -o runs &      # the loop listens
//   ./brake 127.0.0.1 5555                                      # the client connects
//
// It keeps its speed straight on, and brakes for anything within 12 m ahead in its lane.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

// What msgpack holds, as far as Resweep sends it: nil, booleans, numbers, texts and bytes, arrays, maps by text.
struct Value {
    double number = 0.0;
    std::string bytes;
    std::vector<Value> items;
    std::map<std::string, Value> fields;

    const Value& at(const std::string& name) const { return fields.at(name); }
};

class Reader {
public:
    explicit Reader(const std::string& data) : data_(data) {}

    Value read() {
        const unsigned tag = static_cast<unsigned char>(take(1)[0]);
        if (tag < 0x80) return number(tag);
        if (tag < 0x90) return map(tag & 0x0f);
        if (tag < 0xa0) return array(tag & 0x0f);
        if (tag < 0xc0) return bytes(tag & 0x1f);
        if (tag >= 0xe0) return number(static_cast<int8_t>(tag));
        switch (tag) {
            case 0xc0: return {};
            case 0xc2: return number(0);
            case 0xc3: return number(1);
            case 0xc4: case 0xd9: return bytes(integer(1));
            case 0xc5: case 0xda: return bytes(integer(2));
            case 0xc6: case 0xdb: return bytes(integer(4));
            case 0xca: { const uint32_t bits = integer(4); float f; std::memcpy(&f, &bits, 4); return number(f); }
            case 0xcb: { const uint64_t bits = integer(8); double d; std::memcpy(&d, &bits, 8); return number(d); }
            case 0xcc: return number(integer(1));
            case 0xcd: return number(integer(2));
            case 0xce: return number(integer(4));
            case 0xcf: return number(static_cast<double>(integer(8)));
            case 0xd0: return number(static_cast<int8_t>(integer(1)));
            case 0xd1: return number(static_cast<int16_t>(integer(2)));
            case 0xd2: return number(static_cast<int32_t>(integer(4)));
            case 0xd3: return number(static_cast<double>(static_cast<int64_t>(integer(8))));
            case 0xdc: return array(integer(2));
            case 0xdd: return array(integer(4));
            case 0xde: return map(integer(2));
            case 0xdf: return map(integer(4));
        }
        throw std::runtime_error("message: a kind of value that Resweep does not send");
    }

private:
    const std::string& data_;
    size_t at_ = 0;

    const char* take(size_t count) {
        if (at_ + count > data_.size()) throw std::runtime_error("message: cut off");
        at_ += count;
        return data_.data() + at_ - count;
    }
    uint64_t integer(int count) {  // most significant byte first
        const char* from = take(count);
        uint64_t made = 0;
        for (int at = 0; at < count; ++at) made = made << 8 | static_cast<unsigned char>(from[at]);
        return made;
    }
    static Value number(double value) { Value made; made.number = value; return made; }
    Value bytes(size_t count) { Value made; made.bytes.assign(take(count), count); return made; }
    Value array(size_t count) {
        Value made;
        for (size_t at = 0; at < count; ++at) made.items.push_back(read());
        return made;
    }
    Value map(size_t count) {
        Value made;
        for (size_t at = 0; at < count; ++at) { const std::string name = read().bytes; made.fields[name] = read(); }
        return made;
    }
};

void put_integer(std::string& to, uint64_t value, int count) {
    for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}
void put_text(std::string& to, const std::string& text) { to += static_cast<char>(0xa0 | text.size()); to += text; }
void put_double(std::string& to, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, 8);
    to += '\xcb';
    put_integer(to, bits, 8);
}

class Link {
public:
    Link(const char* host, int port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        if (inet_pton(AF_INET, host, &address.sin_addr) != 1) throw std::runtime_error("host: expected an IPv4 address");
        for (int tries = 0; tries < 300; ++tries) {  // the loop may not listen yet
            socket_ = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return;
            close(socket_);
            usleep(100000);
        }
        throw std::runtime_error("nobody listens there");
    }
    ~Link() { close(socket_); }

    Value receive() {
        std::string head = read(4), body;
        uint32_t size = 0;
        for (unsigned char byte : head) size = size << 8 | byte;
        body = read(size);
        return Reader(body).read();
    }
    void send(const std::string& body) {
        std::string whole;
        put_integer(whole, body.size(), 4);
        whole += body;
        for (size_t sent = 0; sent < whole.size();) {
            const ssize_t part = ::send(socket_, whole.data() + sent, whole.size() - sent, 0);
            if (part <= 0) throw std::runtime_error("the connection is lost");
            sent += part;
        }
    }

private:
    int socket_ = -1;

    std::string read(size_t count) {
        std::string made(count, '\0');
        for (size_t got = 0; got < count;) {
            const ssize_t part = recv(socket_, &made[got], count - got, 0);
            if (part <= 0) throw std::runtime_error("the connection is lost");
            got += part;
        }
        return made;
    }
};

// Whether more than three returns lie within 12 m ahead in the lane, above the ground.
bool blocked(const Value& observation) {
    int near = 0;
    for (const Value& scan : observation.at("scans").at("lidar").items) {
        const std::string& bytes = scan.at("points").bytes;
        for (size_t at = 0; at + 12 <= bytes.size(); at += 12) {
            float point[3];  // little-endian, as on most machines
            std::memcpy(point, bytes.data() + at, 12);
            near += point[0] > 3 && point[0] < 12 && std::fabs(point[1]) < 1 && point[2] > -1.3f;
        }
    }
    return near > 3;
}

int main(int count, char** words) {
    if (count != 3) {
        std::fprintf(stderr, "usage: brake HOST PORT\n");
        return 2;
    }
    try {
        Link link(words[1], std::atoi(words[2]));
        while (true) {
            const Value message = link.receive();
            const std::string type = message.at("type").bytes;
            std::string answer;
            if (type == "end") {
                std::printf("%s\n", message.at("outcome").bytes.c_str());
                return 0;
            }
            if (type == "mission") {
                answer += '\x81';  // a map of one
                put_text(answer, "type");
                put_text(answer, "ready");
            } else {
                answer += '\x83';  // a map of three
                put_text(answer, "type");
                put_text(answer, "command");
                put_text(answer, "step");
                answer += '\xce';
                put_integer(answer, static_cast<uint64_t>(message.at("step").number), 4);
                put_text(answer, "command");
                answer += '\x92';  // an array of two: acceleration m/s², steering rad
                put_double(answer, blocked(message) ? -5.0 : 0.0);
                put_double(answer, 0.0);
            }
            link.send(answer);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "brake: %s\n", error.what());
        return 1;
    }
}
